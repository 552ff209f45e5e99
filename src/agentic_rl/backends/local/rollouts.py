"""From tasks to trajectories to samples, and what is measured on the way."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from agentic_rl.agents.trajectory import Segment, Trajectory, token_list
from agentic_rl.backends.local.batches import Sample


def to_samples(trajectories: Sequence[Trajectory]) -> list[Sample]:
    """What the learner needs of trajectories, one sample for each part; a group is the trajectories of one `idx`."""
    return [
        _sample(trajectory, part, number)
        for number, trajectory in enumerate(trajectories)
        for part in trajectory.parts()
    ]


def _sample(trajectory: Trajectory, part: Segment, number: int) -> Sample:
    prompt, response = token_list(part.prompt_tokens), token_list(part.response_tokens)
    return Sample(
        tokens=prompt + response,
        prompt_length=len(prompt),
        mask=token_list(part.response_masks),
        logprobs=list(part.response_logprobs),
        reward=trajectory.trajectory_reward,
        group=trajectory.idx,
        failed=bool(trajectory.error),
        trajectory=number,
    )


def rollout_metrics(trajectories: Sequence[Trajectory], seconds: float) -> dict[str, float]:
    """Rewards, lengths and speed of one step. Failed rollouts count in `reward/failed_fraction` alone."""
    whole = [trajectory for trajectory in trajectories if not trajectory.error]
    rewards = [trajectory.trajectory_reward for trajectory in whole] or [0.0]
    lengths = [sum(len(part.response_tokens) for part in trajectory.parts()) for trajectory in whole] or [0]
    turns = [sum(map(_turns, trajectory.parts())) for trajectory in whole] or [0]
    parts = [part for trajectory in trajectories for part in trajectory.parts()]
    written = sum(sum(token_list(part.response_masks)) for part in parts)
    return {
        "reward/mean": statistics.fmean(rewards),
        "reward/std": statistics.pstdev(rewards),
        "reward/failed_fraction": 1 - len(whole) / len(trajectories),
        "response_length/mean": statistics.fmean(lengths),
        "response_length/max": float(max(lengths)),
        "turns/mean": statistics.fmean(turns),
        "samples/mean": len(parts) / len(trajectories),
        "rollout/tokens_per_second": written / seconds if seconds > 0 else 0.0,
        "time/rollout": seconds,
    }


def _turns(part: Segment) -> int:
    """How often the policy began to write: the starts of runs of 1 in the mask."""
    mask = token_list(part.response_masks)
    return sum(1 for before, now in zip([0, *mask], mask, strict=False) if now and not before)
