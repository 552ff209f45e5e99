"""Tasks from parquet files in verl's layout, and the order in which training takes them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from agentic_rl.agents.task import Message, Task

if TYPE_CHECKING:
    import pyarrow as pa


class TaskTable:
    """The tasks of one data file. Rows become Python values only when they are asked for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def group(self, rows: Sequence[int], samples: int, seed: int, step: int) -> list[Task]:
        """The tasks of one training step: `samples` rollouts for each of `rows`, next to each other.

        The seed of a rollout depends on `seed`, `step` and its place alone, so a resumed run samples the same.
        """
        return [
            _task(record, idx, sample, seed=rollout_seed(seed, step, idx, sample))
            for idx, record in enumerate(self._records(rows))
            for sample in range(samples)
        ]

    def greedy(self, start: int, stop: int) -> list[Task]:
        """The rows from `start` to before `stop` as tasks of an evaluation; `idx` is the row."""
        rows = range(start, min(stop, len(self)))
        return [_task(record, row, 0, greedy=True) for row, record in zip(rows, self._records(rows), strict=True)]

    def _records(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = self._table.take(list(rows)).to_pylist()
        return records


def _task(record: dict[str, Any], idx: int, sample: int, *, seed: int = 0, greedy: bool = False) -> Task:
    return Task(
        prompt=[without_nulls(message) for message in record["prompt"]],
        ground_truth=record["reward_model"]["ground_truth"],
        data_source=record.get("data_source") or "",
        extra_info=record.get("extra_info") or {},
        idx=idx,
        sample=sample,
        seed=seed,
        greedy=greedy,
    )


def without_nulls(value: Any) -> Any:
    """A message without the nulls that parquet fills in for fields which only other rows have."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def conversations(table: pa.Table) -> list[list[Message]]:
    """The `messages` column of a warm-up file, one conversation a row."""
    rows: list[list[Message]] = without_nulls(table.column("messages").to_pylist())
    return rows


def rollout_seed(seed: int, step: int, idx: int, sample: int) -> int:
    """A 63-bit seed that differs for every rollout of a run."""
    digest = blake2b(f"{seed}/{step}/{idx}/{sample}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


@dataclass(frozen=True)
class Position:
    """How far training has come in the data: the next row of an epoch's order."""

    epoch: int = 0
    row: int = 0


class DataOrder:
    """Batches of rows, shuffled anew for each epoch; an incomplete last batch is dropped, as verl drops it."""

    def __init__(self, rows: int, batch_size: int, seed: int) -> None:
        self._rows = rows
        self._batch_size = batch_size
        self._seed = seed
        self._shuffled: tuple[int, list[int]] = (-1, [])

    def take(self, position: Position) -> tuple[list[int], Position]:
        """The rows of the batch at `position`, and the position after it."""
        if position.row + self._batch_size > self._rows:
            position = Position(position.epoch + 1)
        end = position.row + self._batch_size
        return self._order(position.epoch)[position.row : end], Position(position.epoch, end)

    def _order(self, epoch: int) -> list[int]:
        if self._shuffled[0] != epoch:
            order = list(range(self._rows))
            random.Random(f"{self._seed}/{epoch}").shuffle(order)  # noqa: S311 - an order of rows, not a secret
            self._shuffled = (epoch, order)
        return self._shuffled[1]


def total_steps(rows: int, batch_size: int, epochs: int, wanted: int | None) -> int:
    """`wanted` steps, going through the data as often as that takes; without it `epochs` times all whole batches."""
    return wanted if wanted is not None else rows // batch_size * epochs
