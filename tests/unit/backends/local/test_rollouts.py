from __future__ import annotations

import json
from typing import Any

import pytest
import torch

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Segment, Trajectory
from agentic_rl.backends.local.rollouts import rollout_metrics, to_samples
from agentic_rl.rollout.trajectory_record import trajectory_record


def trajectory(reward: float = 1.0, **changes: Any) -> Trajectory:
    values: dict[str, Any] = {
        "prompt_tokens": [1, 2],
        "response_tokens": [3, 4, 5, 6],
        "response_masks": [1, 0, 1, 1],
        "response_logprobs": [-0.123456789, 0.0, -1.0, -2.0],
        "idx": 4,
        "trajectory_reward": reward,
        "chat_completions": [{"role": "assistant", "content": "\ud800"}],
    }
    return Trajectory(**{**values, **changes})


FAILED = trajectory(0.0, error="ValueError: no", finish_reason="error")


def test_a_sample_keeps_the_tokens_of_its_trajectory() -> None:
    (sample,) = to_samples([trajectory(0.5)])
    assert (sample.tokens, sample.prompt_length, sample.mask) == ([1, 2, 3, 4, 5, 6], 2, [1, 0, 1, 1])
    assert (sample.reward, sample.group, sample.failed) == (0.5, 4, False)
    assert sample.logprobs == [-0.123456789, 0.0, -1.0, -2.0]
    assert to_samples([FAILED])[0].failed


SEGMENTS = [Segment([1], [3], [1], [-0.5]), Segment([1, 2], [3, 4, 5, 6], [1, 0, 1, 1], [-0.5, 0.0, -1.0, -2.0])]


def test_each_part_is_a_sample_of_one_trajectory() -> None:
    samples = to_samples([trajectory(0.25), trajectory(0.5, segments=SEGMENTS)])
    assert [(sample.trajectory, sample.reward, sample.group) for sample in samples] == [
        (0, 0.25, 4),
        (1, 0.5, 4),
        (1, 0.5, 4),
    ]
    assert [(sample.tokens, sample.prompt_length, sample.mask) for sample in samples[1:]] == [
        ([1, 3], 1, [1]),
        ([1, 2, 3, 4, 5, 6], 2, [1, 0, 1, 1]),
    ]


def test_tensors_of_a_users_wrapper_become_numbers() -> None:
    (sample,) = to_samples([trajectory(prompt_tokens=torch.tensor([1, 2]), response_masks=torch.tensor([1, 0, 1, 1]))])
    assert sample.tokens == [1, 2, 3, 4, 5, 6]
    assert sample.mask == [1, 0, 1, 1]
    assert all(type(token) is int for token in [*sample.tokens, *sample.mask])


def test_metrics_leave_failed_rollouts_out_of_the_means() -> None:
    metrics = rollout_metrics([trajectory(1.0), trajectory(0.0, response_tokens=[3], response_masks=[1]), FAILED], 2.0)
    assert metrics["reward/mean"] == 0.5
    assert metrics["reward/std"] == 0.5
    assert metrics["reward/failed_fraction"] == pytest.approx(1 / 3)
    assert metrics["response_length/mean"] == 2.5
    assert metrics["response_length/max"] == 4
    assert metrics["turns/mean"] == 1.5
    assert metrics["rollout/tokens_per_second"] == (3 + 1 + 3) / 2.0
    assert metrics["time/rollout"] == 2.0


def test_metrics_count_all_parts_of_a_trajectory() -> None:
    metrics = rollout_metrics([trajectory(1.0, segments=SEGMENTS), trajectory(0.0)], 2.0)
    assert metrics["reward/mean"] == 0.5
    assert metrics["response_length/max"] == 5
    assert metrics["turns/mean"] == (3 + 2) / 2
    assert metrics["samples/mean"] == 1.5
    assert metrics["rollout/tokens_per_second"] == (4 + 3) / 2.0


def test_metrics_of_a_step_in_which_everything_failed() -> None:
    metrics = rollout_metrics([FAILED], 1.0)
    assert (metrics["reward/mean"], metrics["reward/failed_fraction"]) == (0.0, 1.0)


def test_a_record_can_be_written_as_json_and_has_the_documented_fields() -> None:
    task = Task(prompt=[], data_source="source", idx=4, sample=1)
    record = json.loads(json.dumps(trajectory_record(trajectory(), task, step=9)))
    assert record == {
        "schema": 2,
        "step": 9,
        "idx": 4,
        "sample": 1,
        "data_source": "source",
        "reward": 1.0,
        "finish_reason": "done",
        "error": "",
        "messages": [{"role": "assistant", "content": "\ud800"}],
        "prompt_tokens": [1, 2],
        "response_tokens": [3, 4, 5, 6],
        "response_mask": [1, 0, 1, 1],
        "response_logprobs": [-0.12346, 0.0, -1.0, -2.0],
        "segments": [],
    }
    (first, last) = trajectory_record(trajectory(segments=SEGMENTS), task, step=9)["segments"]
    assert first == {"prompt_tokens": [1], "response_tokens": [3], "response_mask": [1], "response_logprobs": [-0.5]}
    assert last["response_mask"] == [1, 0, 1, 1]
