"""The JSON Schema of the instances format is valid, and says what an editor should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from agentic_rl.config.aura.json_schema import json_schema
from agentic_rl.config.source import parse
from aura_trees import SOUND


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json_schema()


def errors(schema: dict[str, Any], text: str) -> list[str]:
    """The keys that the schema refuses."""
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    return [deepest(one) for one in validator.iter_errors(parse(text, "").tree)]


def deepest(error: jsonschema.ValidationError) -> str:
    while error.context:
        error = max(error.context, key=lambda one: len(one.absolute_path))
    return ".".join(map(str, error.absolute_path))


def properties(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for one in (schema, *schema["$defs"].values()):
        yield from one["properties"].items()


def test_a_sound_file_and_one_with_references_everywhere(schema: dict[str, Any]) -> None:
    assert errors(schema, SOUND) == []
    assert errors(schema, SOUND.replace("nnodes: 1", "nnodes: ${nodes}").replace("n: 8", "n: ${number}")) == []
    assert errors(schema, f"defaults: [ppo_trainer@verl_conf]\n{SOUND}") == []


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ("mode: direct", "mode: directly", "agentic_ai.mode"),
        ("n: 8", "n: 0", "verl_conf.actor_rollout_ref.rollout.n"),
        ("cluster_mode: hybrid", "cluster_mode: 1", "train_instances.0.executor_kwargs.cluster_mode"),
    ],
)
def test_other_values_are_refused(schema: dict[str, Any], right: str, wrong: str, key: str) -> None:
    assert errors(schema, SOUND.replace(right, wrong)) == [key]


def test_every_key_is_described(schema: dict[str, Any]) -> None:
    assert [name for name, one in properties(schema) if not one["description"]] == []


def test_released_names_complete_too(schema: dict[str, Any]) -> None:
    described = {name: one["description"] for name, one in properties(schema)}
    assert described["work_mode"] == "Released since for cluster_mode."
    assert json.loads(json.dumps(schema)) == schema
