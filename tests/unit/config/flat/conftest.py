from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Place
from agentic_rl.config.flat import Validated, validate

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

    def run(backend: str = "verl", **changes: Any) -> Validated:
        tree = base(backend)
        for key, value in changes.items():
            section, _, name = key.rpartition("__")
            level = tree.setdefault(section, {}) if section else tree
            level[name] = value
            if value is ...:
                del level[name]
        return check_tree(tree)

    return run
