"""The configuration that a run writes: checking it says nothing of defaults."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from agentic_rl.config.load import load_document
from agentic_rl.config.resolved import MARK, to_yaml
from agentic_rl.config.source import parse

SECTIONS: dict[str, dict[str, Any]] = {
    "verl": {"train_files": "/data/train.parquet", "val_files": "/data/test.parquet"},
    "local": {"train_files": "/data/train.parquet", "val_files": "/data/test.parquet"},
    "mindspeed_rl": {"data_path": "/data/train", "load_params_path": "/params", "save_params_path": "/out"},
}


def codes(text: str, *overrides: str) -> set[str]:
    report = load_document(parse(text, "config.yaml"), overrides, files=False, environ={}).report
    return {one.code for one in report if one.severity != "note"}


def resolved(backend: str, **keys: Any) -> dict[str, Any]:
    """Every key of a configuration, defaults included."""
    tree = {
        "tokenizer_name_or_path": "/model",
        "agent_name": "math",
        "train_backend": backend,
        "entropy_coeff": 0.001,
        "model_name": "qwen2.5-7b",
        "dataset_additional_keys": ["problem"] if backend == "mindspeed_rl" else None,
        backend: SECTIONS[backend],
        **keys,
    }
    text = yaml.safe_dump({key: value for key, value in tree.items() if value is not None})
    config = load_document(parse(text, "config.yaml"), files=False, environ={}).config
    assert config is not None
    return config.model_dump(mode="json", exclude=SECTIONS.keys() - {backend})


@pytest.mark.parametrize("backend", SECTIONS)
def test_what_a_run_writes_has_no_findings(backend: str) -> None:
    tree = resolved(backend)
    assert codes(to_yaml(tree)) == set()
    assert codes(yaml.safe_dump(tree)) != set()  # without the mark somebody seems to have written all that


def test_what_differs_from_the_default_is_told() -> None:
    assert codes(to_yaml(resolved("local", clip_grad=2.0))) == {"ARL200"}
    assert codes(to_yaml(resolved("local")), "clip_grad=2.0") == {"ARL200"}


def test_a_default_entropy_bonus_counts_as_written() -> None:
    assert codes(to_yaml(resolved("local", entropy_coeff=0.2))) == set()


def test_the_values_are_the_same_with_the_mark() -> None:
    tree = resolved("verl", lr=1e-5)
    marked, plain = (
        load_document(parse(text, ""), files=False, environ={}) for text in (to_yaml(tree), yaml.safe_dump(tree))
    )
    assert marked.values == plain.values
    assert to_yaml(tree).startswith(f"{MARK}\n")


def test_what_is_wrong_in_it_is_told_at_its_line() -> None:
    text = to_yaml(resolved("local")).replace("seed: 0", "seed: false")
    (found,) = [
        one for one in load_document(parse(text, "c.yaml"), files=False, environ={}).report if one.severity == "error"
    ]
    assert (found.key, found.line) == ("seed", text.splitlines().index("seed: false") + 1)
