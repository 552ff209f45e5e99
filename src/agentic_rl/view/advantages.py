"""Advantages of a group for a line that has none, in plain Python: a viewer loads no torch."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

EPSILON = 1e-6


def advantages_of(rewards: Sequence[float | None], failed: Sequence[bool]) -> list[float | None]:
    """What `algorithms.advantages.group_relative_advantages` gives for the rewards of one group.

    Args:
        rewards: of the rollouts of one prompt; None where it is no number, which leaves the rollout out.
        failed: whether the rollout broke; its advantage is 0, and it is left out of the statistics.

    Returns:
        One advantage a rollout; None where the reward is None.
    """
    counted = [reward for reward, broke in zip(rewards, failed, strict=True) if reward is not None and not broke]
    mean = statistics.fmean(counted) if len(counted) > 1 else 0.0
    deviation = statistics.stdev(counted) if len(counted) > 1 else 1.0
    even = len(counted) > 1 and min(counted) == max(counted)
    return [
        None if reward is None else 0.0 if broke or even else (reward - mean) / (deviation + EPSILON)
        for reward, broke in zip(rewards, failed, strict=True)
    ]
