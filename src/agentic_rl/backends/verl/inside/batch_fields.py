"""Fields of verl's batch, which lie in its TransferQueue. Needs verl."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import transfer_queue as tq
from torch import Tensor
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from agentic_rl.backends.verl.inside.measures import Summary, summary_of_strangers
from agentic_rl.backends.verl.inside.records import FIELD


def summaries(batch: tq.KVBatchMeta) -> list[Summary]:
    """What is known of the rollout of each sample."""
    fields = list(_get(batch, "extra_fields"))
    if all("rollout" in one for one in fields):
        return [one["rollout"] for one in fields]
    return [
        one["rollout"] if "rollout" in one else summary_of_strangers(float(row.sum()), len(row))
        for one, row in zip(fields, rewards(batch), strict=True)
    ]


def records(batch: tq.KVBatchMeta) -> list[bytes]:
    """What each sample carries of its rollout for trajectories.jsonl: empty for all but the first of a rollout."""
    return [one.get(FIELD, b"") for one in _get(batch, "extra_fields")]


def uids(batch: tq.KVBatchMeta) -> list[str]:
    """The group of each sample."""
    return [str(uid) for uid in _get(batch, "uid")]


def rewards(batch: tq.KVBatchMeta) -> list[Tensor]:
    """`rm_scores` of each sample. Shape of each: (response,)."""
    return list(_get(batch, "rm_scores").unbind())


def on_last(row: Tensor, reward: float) -> Tensor:
    """A row of rewards like `row` with all of the reward on its last token."""
    changed = row.new_zeros(row.shape)
    changed[-1] = reward
    return changed


def put(batch: tq.KVBatchMeta, **fields: Sequence[Any]) -> None:
    """Replace fields of all samples, each given as one value for every sample."""
    rows = [dict(zip(fields, values, strict=True)) for values in zip(*fields.values(), strict=True)]
    tq.kv_batch_put(keys=batch.keys, partition_id=batch.partition_id, fields=list_of_dict_to_tensordict(rows))


def _get(batch: tq.KVBatchMeta, field: str) -> Any:
    return tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=[field])[field]
