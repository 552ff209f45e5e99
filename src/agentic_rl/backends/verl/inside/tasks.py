"""Tasks out of the rows that verl hands to an agent loop."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl.agents.task import Task
from agentic_rl.backends.local.data import rollout_seed, without_nulls


@dataclass(frozen=True)
class Sampling:
    """How verl wants a rollout sampled: as configured, or, in its validation, as `val_kwargs` says."""

    temperature: float
    top_k: int
    top_p: float

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> Sampling:
        """What verl's `sampling_params` say."""
        return cls(float(params["temperature"]), int(params["top_k"]), float(params["top_p"]))

    @property
    def greedy(self) -> bool:
        """Whether the most probable token is taken."""
        return self.temperature == 0


def task_of(row: Mapping[str, Any], seed: int, *, greedy: bool = False) -> Task:
    """The task of one rollout.

    Args:
        row: verl's keywords of `run`: the columns of the data, and `index`, `session_id`, `global_steps`.
        seed: the configuration's; vLLM gets no seed, but an agent that draws random numbers may use the task's.
        greedy: take the most probable token.
    """
    index, session = _whole(row.get("index")), _whole(row.get("session_id"))
    reward_model = row.get("reward_model") or {}
    return Task(
        prompt=[without_nulls(dict(message)) for message in row["raw_prompt"]],
        ground_truth=reward_model.get("ground_truth"),
        data_source=str(row.get("data_source") or ""),
        extra_info=dict(row.get("extra_info") or {}),
        idx=index,
        sample=session,
        seed=rollout_seed(seed, _whole(row.get("global_steps")), index, session),
        greedy=greedy,
    )


def _whole(value: Any) -> int:
    """A number of verl's, which may be numpy's; 0 where a data set numbers its rows with something else."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return 0
