"""Trajectories as they come, put together to the groups of one prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory


class Grouping:
    """Collects the trajectories of tasks, whose groups are those of equal `idx`."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks
        self._missing = Counter(task.idx for task in tasks)
        self._there: dict[int, dict[int, Trajectory]] = {}

    def add(self, place: int, trajectory: Trajectory) -> list[Trajectory] | None:
        """Take the trajectory of the task with this number; return its group once that is whole, else None."""
        idx = self._tasks[place].idx
        group = self._there.setdefault(idx, {})
        group[place] = trajectory
        self._missing[idx] -= 1
        if self._missing[idx]:
            return None
        del self._there[idx]
        return [group[one] for one in sorted(group)]
