"""trajectories.jsonl: what the policy saw and wrote in training, within a bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.local.rollouts import trajectory_record
from agentic_rl.tracking import LineFile

MAX_BYTES = 1 << 30
"""Of the whole file, shared out evenly over the steps of the run."""

Pair = tuple[Task, Trajectory]


class TrajectoryLog:
    """Writes whole groups of each step until the step's share of `MAX_BYTES` is used up; always the first group."""

    def __init__(self, file: LineFile, steps: int) -> None:
        self._file = file
        self._share = MAX_BYTES // max(1, steps)

    def write(self, step: int, tasks: Sequence[Task], trajectories: Sequence[Trajectory]) -> None:
        """Write the trajectories of one training step, which stand in the order of their tasks."""
        start = self._file.position
        for group in _groups(tasks, trajectories):
            for task, trajectory in group:
                self._file.write(trajectory_record(trajectory, task, step))
            if self._file.position - start >= self._share:
                break
        self._file.flush()


def _groups(tasks: Sequence[Task], trajectories: Sequence[Trajectory]) -> Iterator[list[Pair]]:
    pairs = zip(tasks, trajectories, strict=True)
    return (list(group) for _, group in groupby(pairs, key=lambda pair: pair[0].idx))
