"""Names of the instances format that were released since its page was written, read as the documented ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.config.fields.pages import ALIAS, TWO_SPELLINGS
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Page

KWARGS = {"work_mode": "cluster_mode", "rl_framework": "train_engine", "rl_framework_kwargs": "train_config"}
"""Released name -> documented name, in `executor_kwargs` of train instances."""
CONFIGS = {"verl": "verl_conf", "mindspeed_rl": "msrl_conf"}
"""Engine -> the section with its configuration, which `rl_framework_kwargs` holds under that name."""
VALUES = {
    "mode": ("direct_with_serve",),
    "job_type": ("verl_train", "msrl_train"),
    "cluster_mode": ("fully_async", "dummy_train"),
}
"""Documented key -> values that were released since."""


@dataclass
class Renamed:
    """A tree under the documented names."""

    tree: dict[str, Any]
    written_as: dict[str, str] = field(default_factory=dict)
    """Documented dotted key -> the dotted key that was written."""
    told: list[tuple[Page, str, str, str]] = field(default_factory=list)
    """Page, key as written, message and remedy of what is to be said about the names."""


def renamed(tree: Mapping[str, Any]) -> Renamed:
    """Read released names as documented ones, with a note each; the tree itself is left as it is."""
    result = Renamed(dict(tree))
    instances = tree.get("train_instances")
    if isinstance(instances, list):
        result.tree["train_instances"] = [
            _instance(item, f"train_instances[{index}].executor_kwargs", result) for index, item in enumerate(instances)
        ]
    result.told += [(ALIAS, key, *_since(value)) for key, value in _released_values(result.tree, result.written_as)]
    return result


def _instance(item: Any, prefix: str, result: Renamed) -> Any:
    kwargs = item.get("executor_kwargs") if isinstance(item, Mapping) else None
    if not isinstance(kwargs, Mapping):
        return item
    kept = {name: value for name, value in kwargs.items() if name not in KWARGS}
    for released, documented in KWARGS.items():
        if released in kwargs:
            value = _config_of(kwargs) if documented == "train_config" else kwargs[released]
            _adopt(kept, documented, value, f"{prefix}.{released}", result)
    return {**item, "executor_kwargs": kept}


def _config_of(kwargs: Mapping[str, Any]) -> Any:
    """`rl_framework_kwargs` holds the configuration under the name of its section."""
    given = kwargs["rl_framework_kwargs"]
    section = CONFIGS.get(str(kwargs.get("rl_framework", kwargs.get("train_engine", "verl"))), "verl_conf")
    return given.get(section, given) if isinstance(given, Mapping) else given


def _adopt(kept: dict[str, Any], documented: str, value: Any, written: str, result: Renamed) -> None:
    key = f"{written.rpartition('.')[0]}.{documented}"
    released = written.rpartition(".")[2]
    if documented not in kept:
        result.told.append((ALIAS, written, f"released since for {documented}, and read as it", ""))
    elif documented == "cluster_mode":
        message = f"{show(kept[documented])} has no effect: {released} {show(value)} stands beside it and wins"
        result.told.append((TWO_SPELLINGS, key, message, f"remove {documented}"))
    elif kept[documented] != value:
        message = f"{released} and {documented} are the same key, written with different values"
        result.told.append((TWO_SPELLINGS, written, message, f"remove {released}"))
        return
    kept[documented] = value
    result.written_as[key] = written


def _released_values(tree: Mapping[str, Any], written_as: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for key, value in _named_values(tree):
        if isinstance(value, str) and value in VALUES[key.rpartition(".")[2]]:
            yield written_as.get(key, key), value


def _named_values(tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    yield "agentic_ai.mode", _at(tree, "agentic_ai").get("mode")
    for index, item in enumerate(_items(_at(tree, "direct_conf").get("entrypoints"))):
        yield f"direct_conf.entrypoints[{index}].job_type", item.get("job_type")
    for index, item in enumerate(_items(tree.get("train_instances"))):
        key = f"train_instances[{index}].executor_kwargs.cluster_mode"
        yield key, _at(item, "executor_kwargs").get("cluster_mode")


def _at(node: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    below = node.get(key)
    return below if isinstance(below, Mapping) else {}


def _items(value: Any) -> list[Mapping[str, Any]]:
    return [item if isinstance(item, Mapping) else {} for item in value] if isinstance(value, list) else []


def _since(value: str) -> tuple[str, str]:
    return f"{value} was released since the format's page was written; it is read", ""
