"""Greedy rollouts on the held-out tasks."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.failed_rollouts import refuse_failures
from agentic_rl.backends.local.data import TaskTable
from agentic_rl.backends.local.settings import local_section
from agentic_rl.config.flat import FlatConfig

Roll = Callable[[Sequence[Task]], list[Trajectory]]
"""Rolls out tasks; the trajectories are in the order of the tasks."""


def evaluate(tasks: TaskTable, config: FlatConfig, roll: Roll) -> dict[str, float]:
    """The mean greedy reward over all of `tasks`, `val_batch_size` at a time, and the mean of each source.

    A failed rollout counts with the reward it has, which is 0 unless the agent said otherwise.

    Raises:
        FailedRolloutsError: more than `max_failed_fraction` of a batch failed.
    """
    rewards: dict[str, list[float]] = defaultdict(list)
    failed = 0
    batch_size = local_section(config).val_batch_size
    for start in range(0, len(tasks), batch_size):
        batch = tasks.greedy(start, start + batch_size)
        trajectories = roll(batch)
        refuse_failures("evaluation", [trajectory.error for trajectory in trajectories], config.max_failed_fraction)
        for task, trajectory in zip(batch, trajectories, strict=True):
            rewards[task.data_source].append(trajectory.trajectory_reward)
            failed += bool(trajectory.error)
    return _means(rewards, failed)


def _means(rewards: dict[str, list[float]], failed: int) -> dict[str, float]:
    every = [reward for of_source in rewards.values() for reward in of_source]
    means = {f"eval/reward/{source}": statistics.fmean(rewards[source]) for source in sorted(rewards) if source}
    return {"eval/reward": statistics.fmean(every), **means, "eval/failed_fraction": failed / len(every)}
