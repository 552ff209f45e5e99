"""Configurations for verl, and what is known of the installed verl without importing it."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agentic_rl.backends.verl.composition import compose
from agentic_rl.config.flat import FlatConfig
from agentic_rl.config.load import load
from agentic_rl.config.verl_native.installation import Installation, installed

HAS_VERL = find_spec("verl") is not None
BASE: dict[str, Any] = {
    "tokenizer_name_or_path": "/data/model",
    "agent_name": "math",
    "train_backend": "verl",
    "num_gpus_per_node": 4,
    "device": "gpu",
    "verl.train_files": "/data/train.parquet",
    "verl.val_files": "/data/test.parquet",
    "verl.train_batch_size": 64,
    "verl.val_before_train": False,
}


def flat(**changes: Any) -> FlatConfig:
    """`BASE` with changes; `verl__lr` stands for `verl.lr`. The files that it names are not looked at."""
    return flat_of({name.replace("__", "."): value for name, value in changes.items()})


def flat_of(changes: dict[str, Any]) -> FlatConfig:
    """`BASE` with changes by dotted key."""
    tree: dict[str, Any] = {}
    for key, value in {**BASE, **changes}.items():
        level, _, name = key.rpartition(".")
        (tree.setdefault(level, {}) if level else tree)[name] = value
    loaded = load(tree, files=False, environ={})
    assert loaded.config is not None, loaded.report.to_text()
    return loaded.config


def installation(**changes: Any) -> Installation:
    """This environment's verl, with the other packages as they are on a machine with GPUs."""
    there = installed()
    values = {"flash_attn": True, "verl": "0.9.1", "config_dir": there.config_dir, **changes}
    return Installation(**values)


def at(native: dict[str, Any], key: str) -> Any:
    """The value of a dotted key of a rendered configuration."""
    value: Any = native
    for name in key.split("."):
        value = value[name]
    return value


@cache
def composed(template: str, there: Installation) -> Any:
    """What verl's template gives; composing takes most of the time of rendering."""
    return compose(template, there)


@cache
def expressions(file: str) -> frozenset[str]:
    """Every expression in a file of the installed verl; comments and texts are none."""
    spec = find_spec("verl")
    assert spec is not None
    assert spec.submodule_search_locations
    tree = ast.parse((Path(spec.submodule_search_locations[0]) / file).read_text(encoding="utf-8"))
    return frozenset(ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.expr))


def loaded_by(code: str) -> set[str]:
    """The packages that a new Python has loaded after `code`."""
    show = "import sys; print(*{name.partition('.')[0] for name in sys.modules})"
    return set(
        subprocess.run(
            [sys.executable, "-c", f"{code}; {show}"], capture_output=True, text=True, check=True
        ).stdout.split()
    )


def job_options(folder: Path) -> dict[str, Any]:
    """The options of a job that leaves its files in `folder`."""
    return {
        "max_failed_fraction": 0.5,
        "keep_checkpoints": 2,
        "stepwise": False,
        "stop_file": str(folder / "stop"),
        "events": str(folder / "events.jsonl"),
    }
