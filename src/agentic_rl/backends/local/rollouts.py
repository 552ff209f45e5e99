"""From tasks to trajectories to samples, and what is measured on the way."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory, token_list
from agentic_rl.backends.local.batches import Sample

SCHEMA_VERSION = 1
"""Of the lines in trajectories.jsonl; raised when a field changes its meaning or goes away."""
LOGPROB_DIGITS = 5
"""Digits after the point in trajectories.jsonl; learning uses the full numbers."""


def to_sample(trajectory: Trajectory) -> Sample:
    """What the learner needs of a trajectory; its group is the trajectory's `idx`."""
    prompt, response = token_list(trajectory.prompt_tokens), token_list(trajectory.response_tokens)
    return Sample(
        tokens=prompt + response,
        prompt_length=len(prompt),
        mask=token_list(trajectory.response_masks),
        logprobs=list(trajectory.response_logprobs),
        reward=trajectory.trajectory_reward,
        group=trajectory.idx,
        failed=bool(trajectory.error),
    )


def rollout_metrics(trajectories: Sequence[Trajectory], seconds: float) -> dict[str, float]:
    """Rewards, lengths and speed of one step. Failed rollouts count in `reward/failed_fraction` alone."""
    whole = [trajectory for trajectory in trajectories if not trajectory.error]
    rewards = [trajectory.trajectory_reward for trajectory in whole] or [0.0]
    lengths = [len(trajectory.response_tokens) for trajectory in whole] or [0]
    turns = [_turns(trajectory) for trajectory in whole] or [0]
    written = sum(sum(token_list(trajectory.response_masks)) for trajectory in trajectories)
    return {
        "reward/mean": statistics.fmean(rewards),
        "reward/std": statistics.pstdev(rewards),
        "reward/failed_fraction": 1 - len(whole) / len(trajectories),
        "response_length/mean": statistics.fmean(lengths),
        "response_length/max": float(max(lengths)),
        "turns/mean": statistics.fmean(turns),
        "rollout/tokens_per_second": written / seconds if seconds > 0 else 0.0,
        "time/rollout": seconds,
    }


def _turns(trajectory: Trajectory) -> int:
    """How often the policy began to write: the starts of runs of 1 in the mask."""
    mask = token_list(trajectory.response_masks)
    return sum(1 for before, now in zip([0, *mask], mask, strict=False) if now and not before)


def trajectory_record(trajectory: Trajectory, task: Task, step: int) -> Mapping[str, Any]:
    """One line of trajectories.jsonl; docs/trajectories.md describes the fields."""
    return {
        "schema": SCHEMA_VERSION,
        "step": step,
        "idx": task.idx,
        "sample": task.sample,
        "data_source": task.data_source,
        "reward": trajectory.trajectory_reward,
        "finish_reason": trajectory.finish_reason,
        "error": trajectory.error,
        "messages": trajectory.chat_completions,
        "prompt_tokens": token_list(trajectory.prompt_tokens),
        "response_tokens": token_list(trajectory.response_tokens),
        "response_mask": token_list(trajectory.response_masks),
        "response_logprobs": [round(logprob, LOGPROB_DIGITS) for logprob in trajectory.response_logprobs],
    }
