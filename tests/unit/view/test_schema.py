from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Segment, Trajectory
from agentic_rl.rollout.trajectory_record import SCHEMA_VERSION, trajectory_record
from agentic_rl.view import trajectory_schema
from view_doubles import rollout, with_advantage


def validator() -> Any:
    schema = trajectory_schema()
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def trajectory(**changes: Any) -> Trajectory:
    return Trajectory(**{"prompt_tokens": [1], "response_tokens": [2, 3], "response_masks": [1, 0], **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"error": "broke", "finish_reason": "error", "chat_completions": [{"role": "user", "content": "\ud800"}]},
        {"response_logprobs": [-0.123456789, 0.0]},
        {"segments": [Segment([1], [2], [1], [-1.0]), Segment([1, 5], [2, 3], [1, 0])]},
    ],
)
@pytest.mark.parametrize("advantage", [None, -0.5])
def test_what_the_backends_write_fits(changes: dict[str, Any], advantage: float | None) -> None:
    task = Task(prompt=[], data_source="calc", idx=3, sample=1)
    record = json.loads(json.dumps(trajectory_record(trajectory(**changes), task, 1, advantage)))
    validator().validate(record)
    assert ("advantage" in record) is (advantage is not None)


def test_the_fields_are_those_that_are_written_in_their_order() -> None:
    written = list(trajectory_record(trajectory(), Task(prompt=[]), 1, 0.0))
    described = list(trajectory_schema()["properties"])
    assert [name for name in described if name in written] == written


def test_our_test_lines_are_real_ones() -> None:
    validator().validate(with_advantage(rollout(), 0.5))
    assert rollout().keys() == trajectory_record(trajectory(), Task(prompt=[]), 1).keys()
    assert rollout()["schema"] == SCHEMA_VERSION
    assert f"in version {SCHEMA_VERSION};" in trajectory_schema()["description"]


def test_lines_of_version_1_fit_too() -> None:
    validator().validate({name: value for name, value in rollout(schema=1).items() if name != "segments"})


@pytest.mark.parametrize(
    "changes",
    [{"step": 0}, {"idx": -1}, {"reward": "1"}, {"finish_reason": "tired"}, {"response_mask": [2]}, {"segments": [{}]}],
)
def test_other_lines_do_not_fit(changes: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator().validate({**rollout(), **changes})
