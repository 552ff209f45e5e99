from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Finding, Place
from agentic_rl.config.flat import Validated, validate
from agentic_rl.config.flat.artifact_registry import relate

SECTION_KEYS: dict[str, dict[str, Any]] = {
    "verl": {"train_files": "/data/train.parquet", "val_files": "/data/test.parquet"},
    "local": {"train_files": "/data/train.parquet", "val_files": "/data/test.parquet"},
    "mindspeed_rl": {"data_path": "/data/train", "load_params_path": "/params", "save_params_path": "/out"},
}


def base(backend: str) -> dict[str, Any]:
    """The smallest quiet configuration of a backend: no finding but a note of the default mini batch."""
    tree: dict[str, Any] = {
        "tokenizer_name_or_path": "/model",
        "agent_name": "math",
        "train_backend": backend,
        "entropy_coeff": 0.001,
        backend: deepcopy(SECTION_KEYS[backend]),
    }
    if backend == "mindspeed_rl":
        tree |= {"model_name": "qwen2.5-7b", "dataset_additional_keys": ["problem"]}
    return tree


def place_of_tree(tree: dict[str, Any]) -> Callable[[str], Place | None]:
    """Places that count the keys of a tree, one a line, as a file would have them."""
    places: dict[str, Place] = {}
    for name, value in tree.items():
        places[str(name)] = Place("config.yaml", len(places) + 1, 1)
        for inner in value if isinstance(value, dict) else ():
            places[f"{name}.{inner}"] = Place("config.yaml", len(places) + 1, 3)
    return places.get


Check = Callable[..., Validated]


@pytest.fixture
def check_tree() -> Check:
    """Validate a tree as it stands."""
    return lambda tree: validate(tree, place_of_tree(tree))


@pytest.fixture
def check(check_tree: Check) -> Check:
    """Validate the smallest configuration of a backend with changes; `verl__lr` is `verl.lr`, `...` removes a key."""

    return lambda backend="verl", **changes: check_tree(changed(backend, changes))


Findings = Callable[..., list[Finding]]


@pytest.fixture
def findings() -> Findings:
    """All findings on the smallest configuration of a backend with changes and with facts, keys of which begin with @.

    Facts that are given as an empty mapping stand for files that say nothing; without any only values are looked at.
    """

    def run(backend: str, changes: dict[str, Any], facts: dict[str, Any] | None = None) -> list[Finding]:
        tree = changed(backend, changes)
        validated = validate(tree, place_of_tree(tree))
        assert validated.config is not None
        related = [] if facts is None else relate(validated, facts, place_of_tree(tree))
        return [*validated.findings, *related]

    return run


def changed(backend: str, changes: dict[str, Any]) -> dict[str, Any]:
    """The smallest configuration of a backend with changes; `verl__lr` is `verl.lr`, `...` removes a key."""
    tree = base(backend)
    for key, value in changes.items():
        section, _, name = key.rpartition("__")
        level = tree.setdefault(section, {}) if section else tree
        level[name] = value
        if value is ...:
            del level[name]
    return tree
