"""The JSON Schema is valid, complete, and says what the checker says."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from agentic_rl.config.flat import Validated, json_schema
from agentic_rl.config.flat.names import ALIASES, LEVELS, SECTIONS

Check = Callable[..., Validated]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json_schema()


@pytest.fixture(scope="module")
def accepts(schema: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema).is_valid


def smallest(backend: str = "verl", **changes: Any) -> dict[str, Any]:
    tree: dict[str, Any] = {
        "tokenizer_name_or_path": "/model",
        "agent_name": "math",
        "train_backend": backend,
        "verl": {"train_files": "/train", "val_files": "/test"},
    }
    for key, value in changes.items():
        section, _, name = key.rpartition("__")
        (tree.setdefault(section, {}) if section else tree)[name] = value
    return tree


def test_dialect_and_json(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json.loads(json.dumps(schema)) == schema


def test_every_key_is_described_with_its_default(schema: dict[str, Any]) -> None:
    for level, names in LEVELS.items():
        properties = schema["$defs"][SECTIONS[level].__name__]["properties"] if level else schema["properties"]
        required = schema["$defs"][SECTIONS[level].__name__].get("required", []) if level else schema["required"]
        for name in names:
            assert properties[name]["description"]
            assert ("default" in properties[name]) == (name not in required)


def test_other_spellings_complete_too(schema: dict[str, Any]) -> None:
    for written, real in ALIASES.items():
        section, _, name = written.rpartition(".")
        properties = schema["$defs"][SECTIONS[section].__name__]["properties"]
        assert properties[name]["deprecated"]
        assert real in properties[name]["description"]


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"lr": 1},
        {"verl__kl_loss_coef": 0.5},
        {"verl__kl_loss_type": "low_bar_kl"},
        {"verl__total_training_steps": None},
        {"local": None},
        {"num_node": 2},
        {"verl__test_freq": -1},
    ],
)
def test_accepted_by_both(changes: dict[str, Any], accepts: Callable[[Any], bool], check_tree: Check) -> None:
    tree = smallest(**changes)
    assert accepts(tree)
    assert check_tree(tree).config is not None


@pytest.mark.parametrize(
    "changes",
    [
        {"lr": 0},
        {"lr": "1e-6"},
        {"rollout_n": 65},
        {"rollout_n": 2.5},
        {"test_only": "False"},
        {"dtype": "float32"},
        {"unknown": 1},
        {"verl__unknown": 1},
        {"verl__test_freq": 0},
        {"verl__ckpt_content": []},
        {"verl__ckpt_content": ["model", "model"]},
        {"verl__project_name": "a/b"},
        {"verl__project_name": ".."},
        {"verl__kl_loss_coef": 2},
        {"verl": None},
        {"train_backend": "local"},
        {"agent_name": "1"},
    ],
)
def test_refused_by_both(changes: dict[str, Any], accepts: Callable[[Any], bool], check_tree: Check) -> None:
    tree = smallest(**changes)
    assert not accepts(tree)
    assert check_tree(tree).config is None


def test_mindspeed_needs_more_shared_keys(accepts: Callable[[Any], bool]) -> None:
    section = {"data_path": "/data", "load_params_path": "/params", "save_params_path": "/out"}
    tree = smallest("mindspeed_rl", mindspeed_rl=section, model_name="qwen3-8b")
    assert not accepts(tree)
    assert accepts({**tree, "dataset_additional_keys": ["problem"]})
