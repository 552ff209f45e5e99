from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.backends.verl.inside.measures import (
    LOST,
    by_session,
    evaluation_measures,
    reasons,
    session_of,
    step_measures,
    summary_of_strangers,
)


def summary(reward: float = 1.0, **changes: Any) -> dict[str, Any]:
    return {**summary_of_strangers(reward, 10), "turns": 2.0, "tool_calls": 3.0, **changes}


FAILED = summary(0.0, error="ValueError: no", failed=1.0, timed_out=1.0, response_length=99)


def test_a_rollout_of_many_samples_counts_once() -> None:
    keys = ["a_0_0", "a_0_1", "a_0_2", "a_1_0", "b-c_0_0"]
    rollouts = by_session(keys, [summary(), summary(), summary(), FAILED, summary()])
    assert list(rollouts) == [("a", "0"), ("a", "1"), ("b-c", "0")]
    assert session_of("b-c_0_12") == ("b-c", "0", 12)


def test_rollouts_that_verl_lost_count_as_failed() -> None:
    assert reasons([summary(), FAILED], expected=4) == ["", "ValueError: no", LOST, LOST]


def test_failed_rollouts_count_in_fractions_alone() -> None:
    measures = step_measures([summary(1.0), summary(0.0, tool_errors=1.0, truncated=1.0), FAILED], expected=4)
    assert measures == {
        "reward/mean": 0.5,
        "reward/std": 0.5,
        "reward/failed_fraction": 0.5,
        "response_length/mean": 10.0,
        "response_length/max": 10.0,
        "turns/mean": 2.0,
        "tool_calls/mean": 3.0,
        "tool_errors/mean": 0.5,
        "truncated/fraction": 0.25,
        "timed_out/fraction": 0.25,
    }


def test_a_step_in_which_everything_failed_has_measures() -> None:
    measures = step_measures([FAILED], expected=2)
    assert (measures["reward/mean"], measures["reward/failed_fraction"]) == (0.0, 1.0)


def test_an_evaluation_has_a_mean_for_each_source() -> None:
    measures = evaluation_measures([1.0, 0.0, 0.5, 0.0], ["a", "a", "b", "b"], failed=1)
    assert measures == pytest.approx(
        {"eval/reward": 0.375, "eval/reward/a": 0.5, "eval/reward/b": 0.25, "eval/failed_fraction": 0.25}
    )
