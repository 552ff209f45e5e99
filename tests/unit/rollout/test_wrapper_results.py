from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from agentic_rl.agents import Step, StepTrajectory, Trajectory, TrajectoryFieldError
from agentic_rl.rollout.wrapper_results import checked, in_order
from rollout_doubles import make_task

GOOD: dict[str, Any] = {"prompt_tokens": [1, 2], "response_tokens": [3, 4, 5], "response_masks": [1, 0, 1], "idx": 0}


@pytest.mark.parametrize("kind", [list, tuple, torch.tensor, np.array])
def test_lists_arrays_and_tensors_are_taken(kind: Any) -> None:
    fields = {name: kind(GOOD[name]) for name in ("prompt_tokens", "response_tokens", "response_masks")}
    trajectory = checked(Trajectory(**fields, trajectory_reward=torch.tensor(0.5)), make_task(idx=7))  # type: ignore[arg-type]
    assert (trajectory.prompt_tokens, trajectory.response_tokens) == ([1, 2], [3, 4, 5])
    assert (trajectory.response_masks, trajectory.trajectory_reward, trajectory.idx) == ([1, 0, 1], 0.5, 7)


def test_dictionaries_step_trajectories_and_boolean_masks_are_taken() -> None:
    assert checked({**GOOD, "metrics": {"steps": 2}}, make_task()).metrics == {"steps": 2}
    masks = torch.tensor([True, False, True])
    assert checked(StepTrajectory(**{**GOOD, "response_masks": masks}), make_task()).response_masks == [1, 0, 1]


def test_what_the_steps_earned_is_kept() -> None:
    steps = checked({**GOOD, "steps": [{"reward": torch.tensor(0.5)}, Step(reward=1, thought="so")]}, make_task()).steps
    assert [(step.reward, step.thought) for step in steps] == [(0.5, ""), (1.0, "so")]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"prompt_tokens": None}, "prompt_tokens is missing from a dict"),
        ({"prompt_tokens": torch.tensor([])}, "prompt_tokens is empty"),
        ({"response_tokens": [], "response_masks": []}, "response_tokens is empty"),
        ({"response_masks": [1]}, "response_masks has 1 entries for 3 response_tokens"),
        ({"response_masks": [1, 2, 0]}, "response_masks holds 2; it may hold 0 and 1 only"),
        ({"response_tokens": torch.zeros(1, 3)}, "response_tokens has 2 dimensions; it needs one"),
        ({"response_tokens": [3.5, 4, 5]}, "response_tokens holds 3.5"),
        ({"response_tokens": [3, -1, 5]}, "response_tokens holds -1"),
        ({"response_tokens": torch.tensor([3.0, 4.0, 5.0])}, "response_tokens holds 3.0"),
        ({"trajectory_reward": float("nan")}, "trajectory_reward is nan"),
        ({"trajectory_reward": None}, "trajectory_reward is None"),
        ({"steps": [{"reward": 1}, Step(reward=float("inf"))]}, r"steps\[1\].reward is inf"),
        ({"response_logprobs": [0.1]}, "response_logprobs has 1 entries for 3 tokens"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(TrajectoryFieldError, match=said):
        checked({**GOOD, **changes}, make_task())


def results(*places: Any) -> list[object]:
    return [{**GOOD, "idx": place} for place in places]


def test_results_are_put_in_order_by_their_place() -> None:
    tasks = [make_task(idx=number) for number in (4, 4, 9, 9)]
    assert in_order(results(2, 0, 3, 1), tasks) == results(0, 1, 2, 3)
    assert in_order(results(4, 4, 9, 9), tasks) == results(4, 4, 9, 9)
    assert in_order(results(0, 0, 0, 0), tasks) == results(0, 0, 0, 0)
    assert in_order([torch_idx(3), torch_idx(0), torch_idx(1), torch_idx(2)], tasks)[0] == torch_idx(0)


def torch_idx(place: int) -> dict[str, Any]:
    return {**GOOD, "idx": place}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "returned a NoneType, not a list"),
        (results(0), "returned 1 trajectories for 2 tasks"),
        (results(0, 7), "idx: "),
        (results(1, 1), "idx: "),
        (results("a", 1), "idx: "),
    ],
)
def test_results_that_fit_no_order_are_refused(given: Any, said: str) -> None:
    with pytest.raises(TrajectoryFieldError, match=said):
        in_order(given, [make_task(idx=0), make_task(idx=5)])
