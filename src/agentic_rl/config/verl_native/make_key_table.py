"""Makes the table of verl's keys from the installed verl: its composed templates and its dataclasses.

`python -m agentic_rl.config.verl_native.make_key_table > src/agentic_rl/config/verl_native/verl-0.9.1.json`, with verl
and hydra-core installed, writes the one that is shipped.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentic_rl.config.aura.composition.merging import merged
from agentic_rl.config.aura.composition.references import LACKING, References
from agentic_rl.config.verl_native.dataclass_fields import dataclass_fields
from agentic_rl.config.verl_native.installation import installed
from agentic_rl.config.verl_native.unknown_keys import TARGET

ENGINES = ("dp", "megatron", "veomni", "torchtitan")
"""Values of `model_engine`: each composes further keys."""
ANY = "any"
_SIMPLE = ("bool", "int", "float", "str")


def table_of(folder: Path) -> dict[str, Any]:
    """The keys of every training engine: sections as they are nested, values as the name of their type.

    Args:
        folder: the Hydra configuration of verl.

    Raises:
        ImportError: hydra-core is not installed.
        RefusedError: the templates can't be composed.
    """
    classes = dataclass_fields(folder.parents[1])
    table: dict[str, Any] = {}
    for engine in ENGINES:
        if not (folder / "model_engine" / f"{engine}.yaml").is_file():
            continue
        raw = merged({}, ["ppo_trainer", {"override model_engine": engine}], folder, []).tree
        references = References(raw, {})
        values = {name: references.value((name,), value) for name, value in raw.items()}
        table = _united(table, _kinds(values, classes))
    return table


def _kinds(section: Mapping[str, Any], classes: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    target = section.get(TARGET)
    fields = classes.get(target.rpartition(".")[2], {}) if isinstance(target, str) else {}
    kinds: dict[str, Any] = {name: _annotated(annotation) for name, annotation in fields.items()}
    for name, value in section.items():
        if name != TARGET and value is not LACKING:
            kinds[str(name)] = _kinds(value, classes) if isinstance(value, Mapping) else _kind(value, kinds.get(name))
    return kinds


def _kind(value: Any, annotated: str | None) -> str:
    if value is None or value == "???":
        return annotated or ANY
    return type(value).__name__


def _annotated(annotation: str) -> str:
    bare = annotation.removeprefix("Optional[").removesuffix("]").removesuffix(" | None")
    return bare if bare in _SIMPLE else ANY


def _united(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {name: _united(one.get(name, kind), other.get(name, kind)) for name, kind in {**one, **other}.items()}
    return one if one == other else ANY


if __name__ == "__main__":
    there = installed()
    if there.config_dir is None:
        sys.exit("verl is not installed")
    made = {"verl": there.verl, "keys": table_of(there.config_dir)}
    print(json.dumps(made, indent=1, sort_keys=True))
