"""trajectories.jsonl: what the policy saw and wrote in training, within a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import torch

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.algorithms.advantages import group_relative_advantages
from agentic_rl.rollout.trajectory_record import trajectory_record
from agentic_rl.tracking import LineFile

MAX_BYTES = 1 << 30
"""Of the whole file, shared out evenly over the steps of the run."""

Pair = tuple[Task, Trajectory]


class TrajectoryLog:
    """Writes whole groups of each step until the step's share of `MAX_BYTES` is used up; always the first group.

    Args:
        file: where to.
        steps: of the whole run.
        by_reward: the advantages follow from the rewards alone, and are written. Otherwise only learning knows them.
    """

    def __init__(self, file: LineFile, steps: int, *, by_reward: bool = True) -> None:
        self._file = file
        self._share = MAX_BYTES // max(1, steps)
        self._by_reward = by_reward

    def write(self, step: int, tasks: Sequence[Task], trajectories: Sequence[Trajectory]) -> None:
        """Write the trajectories of one training step, which stand in the order of their tasks."""
        start = self._file.position
        for group in _groups(tasks, trajectories):
            for (task, trajectory), advantage in zip(group, self._advantages(group), strict=True):
                self._file.write(trajectory_record(trajectory, task, step, advantage))
            if self._file.position - start >= self._share:
                break
        self._file.flush()

    def _advantages(self, group: Sequence[Pair]) -> Sequence[float | None]:
        if not self._by_reward:
            return [None] * len(group)
        rewards_B = torch.tensor([trajectory.trajectory_reward for _, trajectory in group], dtype=torch.float64)
        failed_B = torch.tensor([bool(trajectory.error) for _, trajectory in group])
        advantages: list[float] = group_relative_advantages(
            rewards_B, torch.zeros(len(group), dtype=torch.long), failed_B
        ).tolist()
        return advantages


def _groups(tasks: Sequence[Task], trajectories: Sequence[Trajectory]) -> Iterator[list[Pair]]:
    pairs = zip(tasks, trajectories, strict=True)
    return (list(group) for _, group in groupby(pairs, key=lambda pair: pair[0].idx))
