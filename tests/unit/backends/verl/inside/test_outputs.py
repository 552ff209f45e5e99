from __future__ import annotations

from typing import Any

import pytest
import torch

from agentic_rl.agents.trajectory import Segment, Step, Trajectory
from agentic_rl.backends.verl.inside.outputs import Frame, Rollout, Sample, rollout_of, turns_of

WHOLE = Frame(max_prompt_length=6, max_response_length=8, stepwise=False, filler=99)
STEPWISE = Frame(max_prompt_length=6, max_response_length=8, stepwise=True, filler=99)
OPENING = [1, 2, 3]


def trajectory(**changes: Any) -> Trajectory:
    values: dict[str, Any] = {
        "prompt_tokens": [1, 2],
        "response_tokens": [3, 4, 5, 6, 7, 8],
        "response_masks": [1, 1, 0, 1, 0, 0],
        "response_logprobs": [-0.1, -0.2, 0.0, -0.4, 0.0, 0.0],
        "trajectory_reward": 0.5,
        "chat_completions": [{"role": role} for role in ("system", "user", "assistant", "tool", "assistant", "tool")],
        "metrics": {"tool_calls": 2, "tool_errors": 1},
        "steps": [Step(reward=0.25), Step(reward=-1.0)],
    }
    return Trajectory(**{**values, **changes})


def made(frame: Frame = WHOLE, **changes: Any) -> Rollout:
    return rollout_of(trajectory(**changes), frame, OPENING)


def test_a_whole_trajectory_is_one_sample_up_to_the_policys_last_token() -> None:
    rollout = made()
    (sample,) = rollout.samples
    assert sample == Sample([1, 2], [3, 4, 5, 6], [1, 1, 0, 1], [-0.1, -0.2, 0.0, -0.4], 0.5, [0.25, -1.0])
    assert rollout.messages == 5
    assert rollout.summary() == {
        "error": "",
        "reward": 0.5,
        "response_length": 4,
        "written": 3,
        "failed": 0.0,
        "turns": 2.0,
        "tool_calls": 2.0,
        "tool_errors": 1.0,
        "truncated": 0.0,
        "timed_out": 0.0,
    }


def test_stepwise_each_turn_is_a_sample_with_all_tokens_before_it_as_prompt() -> None:
    rollout = made(STEPWISE)
    assert rollout.samples == [
        Sample([1, 2], [3, 4], [1, 1], [-0.1, -0.2], 0.5, [0.25]),
        Sample([1, 2, 3, 4, 5], [6], [1], [-0.4], 0.5, [-1.0]),
    ]
    assert rollout.summary() == made().summary()


SEGMENTS = [Segment([1, 2], [3, 4], [1, 1], [-0.1, -0.2]), Segment([1] * 9, [5, 6, 7], [1, 0, 1], [-0.3, 0.0, -0.4])]


@pytest.mark.parametrize("frame", [WHOLE, STEPWISE])
def test_each_part_of_a_trajectory_is_a_sample(frame: Frame) -> None:
    rollout = made(frame, segments=SEGMENTS)
    second = [Sample([1] * 9, [5, 6, 7], [1, 0, 1], [-0.3, 0.0, -0.4], 0.5, [0.25, -1.0])]
    if frame.stepwise:
        second = [Sample([1] * 9, [5], [1], [-0.3], 0.5), Sample([1] * 9 + [5, 6], [7], [1], [-0.4], 0.5, [0.25, -1.0])]
    assert rollout.samples == [Sample([1, 2], [3, 4], [1, 1], [-0.1, -0.2], 0.5), *second]
    assert (rollout.error, rollout.response_length, rollout.counts["turns"]) == ("", 5, 3.0)
    assert rollout.summary()["written"] == 4


def test_a_segment_that_is_longer_than_prompt_and_response_together_fails() -> None:
    rollout = made(segments=[SEGMENTS[0], Segment([1] * 15, [5], [1])])
    assert rollout.error == "prompt_tokens has 15 tokens, max_prompt_length is 14"


def test_scores_that_nobody_gave_are_not_told() -> None:
    (sample,) = made(steps=[Step(), Step()]).samples
    assert sample.turn_scores == []


def test_tensors_of_a_wrapper_become_numbers() -> None:
    (sample,) = made(prompt_tokens=torch.tensor([1, 2]), response_masks=torch.tensor([1, 0, 0, 0, 0, 0])).samples
    assert (sample.prompt, sample.mask) == ([1, 2], [1])


@pytest.mark.parametrize("frame", [WHOLE, STEPWISE])
def test_a_failed_rollout_keeps_its_tokens_and_teaches_nothing(frame: Frame) -> None:
    rollout = made(frame, error="LateError: late", finish_reason="timeout")
    assert rollout.samples == [Sample([1, 2], [3, 4, 5, 6, 7, 8], [0] * 6, [0.0] * 6, 0.0)]
    assert (rollout.error, rollout.counts["failed"], rollout.counts["timed_out"]) == ("LateError: late", 1.0, 1.0)
    assert rollout.summary()["written"] == 0


@pytest.mark.parametrize(("opening", "prompt"), [(OPENING, [1, 2, 3]), (range(9), [0, 1, 2, 3, 4, 5]), ([], [99])])
def test_a_rollout_that_recorded_nothing_has_its_messages_as_prompt(opening: list[int], prompt: list[int]) -> None:
    nothing = Trajectory([], [], [], error="ValueError: no")
    assert rollout_of(nothing, WHOLE, opening).samples == [Sample(prompt, [99], [0], [0.0], 0.0)]


def test_a_policy_that_was_never_asked_has_its_reward_in_the_group() -> None:
    rollout = rollout_of(Trajectory([], [], [], trajectory_reward=0.5), WHOLE, OPENING)
    assert rollout.samples == [Sample(OPENING, [99], [0], [0.0], 0.5)]
    assert not rollout.error


def test_a_response_that_is_too_long_is_cut_and_said_to_be() -> None:
    many = {"response_tokens": list(range(20)), "response_masks": [1] * 7 + [0] + [1] * 12, "response_logprobs": []}
    rollout = made(**many)
    assert rollout.samples[0].response == list(range(7))
    assert rollout.samples[0].logprobs == [0.0] * 7
    assert rollout.counts["truncated"] == 1.0


@pytest.mark.parametrize(("prompt", "error"), [([1] * 7, "7 tokens, max_prompt_length is 6"), ([], "is empty")])
def test_a_prompt_that_cannot_be_is_a_failure(prompt: list[int], error: str) -> None:
    rollout = made(prompt_tokens=prompt)
    assert error in rollout.error
    assert sum(rollout.samples[0].mask) == 0
    assert 0 < len(rollout.samples[0].prompt) <= 6


@pytest.mark.parametrize(("reason", "truncated"), [("done", 0), ("length", 1), ("max_steps", 1), ("error", 0)])
def test_a_rollout_that_its_budget_ended_is_truncated(reason: Any, truncated: int) -> None:
    assert made(finish_reason=reason).counts["truncated"] == truncated


def test_a_metric_that_an_agent_made_something_else_is_none() -> None:
    assert made(metrics={"tool_calls": "many"}).counts["tool_calls"] == 0.0


def test_where_no_conversation_is_kept_a_turn_is_two_messages() -> None:
    assert made(chat_completions=[]).messages == 4


def test_turns_are_the_runs_of_one() -> None:
    assert turns_of([]) == turns_of([0, 0]) == []
    assert turns_of([1, 1, 0, 1]) == [(0, 2), (3, 4)]
    assert turns_of([0, 1, 0]) == [(1, 2)]
