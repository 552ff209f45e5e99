from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.local import trajectory_log
from agentic_rl.backends.local.trajectory_log import TrajectoryLog
from agentic_rl.tracking import LineFile

TASKS = [Task(prompt=[], idx=idx, sample=sample) for idx in range(3) for sample in range(2)]
TRAJECTORIES = [Trajectory([1], [2], [1], idx=task.idx) for task in TASKS]


def written(path: Path, steps: int) -> list[tuple[int, int, int]]:
    file = LineFile(path)
    log = TrajectoryLog(file, steps)
    for step in (1, 2):
        log.write(step, TASKS, TRAJECTORIES)
    file.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [(line["step"], line["idx"], line["sample"]) for line in lines]


def test_everything_is_written_while_there_is_room(tmp_path: Path) -> None:
    assert written(tmp_path / "lines", 2) == [(step, task.idx, task.sample) for step in (1, 2) for task in TASKS]


def test_each_step_has_its_share_of_the_size_in_whole_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectory_log, "MAX_BYTES", 1500)
    assert written(tmp_path / "lines", 2) == [
        (step, idx, sample) for step in (1, 2) for idx in (0, 1) for sample in (0, 1)
    ]


def test_the_first_group_is_always_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trajectory_log, "MAX_BYTES", 1)
    assert written(tmp_path / "lines", 2) == [(1, 0, 0), (1, 0, 1), (2, 0, 0), (2, 0, 1)]


def test_advantages_are_those_of_learning_where_they_follow_from_the_rewards(tmp_path: Path) -> None:
    tasks = [Task(prompt=[], sample=sample) for sample in range(3)]
    rollouts = [Trajectory([1], [2], [1], trajectory_reward=reward) for reward in (0.0, 1.0)]
    rollouts.append(Trajectory([1], [2], [1], trajectory_reward=5.0, error="broke"))
    for name, by_reward in (("known", True), ("unknown", False)):
        file = LineFile(tmp_path / name)
        TrajectoryLog(file, 1, by_reward=by_reward).write(1, tasks, rollouts)
        file.close()
    known, unknown = [
        [json.loads(line).get("advantage") for line in (tmp_path / name).read_text().splitlines()]
        for name in ("known", "unknown")
    ]
    assert known == [-0.70711, 0.70711, 0.0]
    assert unknown == [None, None, None]
