"""A rollout as a line of a file: trajectories.jsonl, and what serve mode keeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Segment, Trajectory, token_list

SCHEMA_VERSION = 2
"""Of the lines in trajectories.jsonl; raised when a field changes its meaning or goes away."""
LOGPROB_DIGITS = 5
"""Digits after the point in trajectories.jsonl; learning uses the full numbers."""


def trajectory_record(
    trajectory: Trajectory, task: Task, step: int, advantage: float | None = None
) -> Mapping[str, Any]:
    """One line of trajectories.jsonl; docs/trajectories.md describes the fields. `advantage` None: not known."""
    return {
        "schema": SCHEMA_VERSION,
        "step": step,
        "idx": task.idx,
        "sample": task.sample,
        "data_source": task.data_source,
        "reward": trajectory.trajectory_reward,
        **({} if advantage is None else {"advantage": round(advantage, LOGPROB_DIGITS)}),
        "finish_reason": trajectory.finish_reason,
        "error": trajectory.error,
        "messages": trajectory.chat_completions,
        **_tokens(trajectory),
        "segments": [_tokens(segment) for segment in trajectory.segments],
    }


def _tokens(part: Segment | Trajectory) -> dict[str, Any]:
    return {
        "prompt_tokens": token_list(part.prompt_tokens),
        "response_tokens": token_list(part.response_tokens),
        "response_mask": token_list(part.response_masks),
        "response_logprobs": [round(logprob, LOGPROB_DIGITS) for logprob in part.response_logprobs],
    }
