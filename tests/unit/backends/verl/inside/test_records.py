from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Segment, Trajectory
from agentic_rl.backends.local.trajectory_log import TrajectoryLog
from agentic_rl.backends.verl.inside.records import packed, rollouts_of, unpacked
from agentic_rl.rollout.trajectory_record import trajectory_record
from agentic_rl.tracking import LineFile

TASK = Task(prompt=[], data_source="calc", idx=812, sample=3)


def trajectory(**changes: Any) -> Trajectory:
    values = {"prompt_tokens": [1], "response_tokens": [2, 3], "response_masks": [1, 0], "trajectory_reward": 0.5}
    return Trajectory(**{**values, **changes})


def test_a_trajectory_arrives_as_the_local_backend_would_have_written_it() -> None:
    sent = trajectory(
        chat_completions=[{"role": "assistant", "content": "\ud800"}],
        response_logprobs=[-0.123456789, 0.0],
        finish_reason="length",
        segments=[Segment([1], [9], [1], [-1.0]), Segment([1], [2, 3], [1, 0])],
    )
    arrived, source = unpacked(packed(sent, TASK), "")
    assert trajectory_record(arrived, TASK, 1) == trajectory_record(sent, TASK, 1)
    assert source == "calc"


def test_an_error_that_only_verl_has_is_the_one_that_is_told() -> None:
    assert unpacked(packed(trajectory(), TASK), "prompt_tokens is empty")[0].error == "prompt_tokens is empty"


def test_what_an_agent_leaves_in_its_messages_need_not_be_json() -> None:
    arrived, _ = unpacked(packed(trajectory(chat_completions=[{"role": "user", "content": {1, 2}}]), TASK), "")
    assert arrived.chat_completions == [{"role": "user", "content": "{1, 2}"}]


def test_rollouts_stand_by_prompt_and_number_whatever_the_order_of_the_samples(tmp_path: Path) -> None:
    keys = ["b-1_1_0", "a_0_0", "b-1_0_0", "b-1_0_1", "a_1_0", "c_0_0"]
    rewards = {"b-1_1_0": 0.0, "a_0_0": 1.0, "b-1_0_0": 1.0, "a_1_0": 1.0}
    records = [packed(trajectory(trajectory_reward=rewards[key]), TASK) if key in rewards else b"" for key in keys]
    summaries = [{"error": "broke" if key == "a_1_0" else ""} for key in keys]
    file = LineFile(tmp_path / "trajectories.jsonl")
    TrajectoryLog(file, 1).write(7, *rollouts_of(keys, records, summaries))
    file.close()
    lines = [json.loads(line) for line in (tmp_path / "trajectories.jsonl").read_text().splitlines()]
    assert [(line["step"], line["idx"], line["sample"], line["reward"], line["error"]) for line in lines] == [
        (7, 0, 0, 1.0, ""),
        (7, 0, 1, 0.0, ""),
        (7, 1, 0, 1.0, ""),
        (7, 1, 1, 1.0, "broke"),
    ]
    assert [line["advantage"] for line in lines] == [0.70711, -0.70711, 1.0, 0.0]
