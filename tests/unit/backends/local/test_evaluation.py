from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.errors import FailedRolloutsError
from agentic_rl.backends.local.data import TaskTable
from agentic_rl.backends.local.evaluation import evaluate


def test_means_overall_and_by_source_in_batches(rows: list[dict[str, Any]], loaded: Any) -> None:
    sizes: list[int] = []

    def roll(tasks: Sequence[Task]) -> list[Trajectory]:
        sizes.append(len(tasks))
        return [
            Trajectory([], [], [], trajectory_reward=float(task.ground_truth), error="late" * (task.idx == 4))
            for task in tasks
        ]

    config = loaded({"val_batch_size": 2}, max_failed_fraction=1.0).require()
    metrics = evaluate(TaskTable(pa.Table.from_pylist(rows)), config, roll)
    assert sizes == [2, 2, 1]
    assert metrics == {
        "eval/reward": 2.0,
        "eval/reward/source/0": 2.0,
        "eval/reward/source/1": 2.0,
        "eval/failed_fraction": pytest.approx(0.2),
    }


def test_an_evaluation_in_which_too_much_fails_is_no_measurement(rows: list[dict[str, Any]], loaded: Any) -> None:
    def roll(tasks: Sequence[Task]) -> list[Trajectory]:
        return [Trajectory([], [], [], error="the engine is closed") for _ in tasks]

    with pytest.raises(FailedRolloutsError, match="evaluation: 5 of 5 rollouts failed"):
        evaluate(TaskTable(pa.Table.from_pylist(rows)), loaded().require(), roll)
