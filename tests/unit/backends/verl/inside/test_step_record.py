from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.backends.errors import StaleSamplesError
from agentic_rl.backends.verl.inside.measures import LOST, Summary, summary_of_strangers
from agentic_rl.backends.verl.inside.step_record import Staleness, StepRecord


def rollout(reward: float, error: str = "") -> Summary:
    return {**summary_of_strangers(reward, 5), "error": error}


def test_the_parts_of_a_step_are_measured_together() -> None:
    step = StepRecord()
    assert step.add(["a_0_0", "a_0_1", "a_1_0"], [rollout(1.0), rollout(9.0, "broke")], expected=2) == 5
    assert step.add(["b_0_0", "c_0_0"], [rollout(2.0), rollout(3.0)], expected=3) == 10
    assert (step.prompts, step.written, step.samples) == (3, 15, 5)
    assert step.reasons == ["", "broke", "", "", LOST]
    measured = step.measures()
    assert measured["reward/mean"] == 2.0
    assert measured["reward/failed_fraction"] == pytest.approx(2 / 5)
    assert measured["samples/mean"] == 5 / 4


def test_more_rollouts_than_expected_all_count() -> None:
    step = StepRecord()
    step.add(["a_0_0", "a_1_0"], [rollout(1.0), rollout(1.0, "broke")], expected=1)
    assert (step.expected, step.reasons) == (2, ["", "broke"])


def tags(*versions: Any) -> list[dict[str, Any]]:
    return [{"min_global_steps": version} for version in versions]


def test_samples_of_older_weights_are_counted() -> None:
    staleness = Staleness(step=5)
    assert staleness.measures() == {"samples/stale": 0.0, "samples/staleness_max": 0.0}
    staleness.add(["a", "b"], tags(4, 3), limit=1)
    staleness.add(["c"], tags(3), limit=1)
    assert staleness.measures() == {"samples/stale": 2.0, "samples/staleness_max": 1.0}


def test_a_sample_that_is_older_than_allowed_ends_the_run() -> None:
    with pytest.raises(StaleSamplesError, match="step 5: the sample b was begun with weights that are 2 steps old"):
        Staleness(step=5).add(["a", "b"], tags(4, 2), limit=1)
    unlimited = Staleness(step=5)
    unlimited.add(["b"], tags(0), limit=None)
    assert unlimited.measures()["samples/staleness_max"] == 4
