"""Values by dotted key as the tree that they are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentic_rl.config.aura.schema.section import Section

_PART = re.compile(r"\[(\d+)\]|([^.\[]+)")
Parts = list[str | int]


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """`{"a.b[0].c": 1}` -> `{"a": {"b": [{"c": 1}]}}`; a list or section comes before what is in it."""
    tree: dict[str, Any] = {}
    for key, value in values.items():
        _put(tree, parts_of(key), _plain(value))
    return tree


def parts_of(key: str) -> Parts:
    """`a.b[0].c` -> `["a", "b", 0, "c"]`."""
    return [int(number) if number else name for number, name in _PART.findall(key)]


def _put(tree: Any, parts: Parts, value: Any) -> None:
    *above, last = parts
    for part, following in zip(above, parts[1:], strict=True):
        tree = _at(tree, part, [] if isinstance(following, int) else {})
    if isinstance(tree, list) and isinstance(last, int):
        tree.extend({} for _ in range(last + 1 - len(tree)))
        tree[last] = value
    elif isinstance(tree, dict):
        tree[last] = value


def _at(tree: Any, part: str | int, new: Any) -> Any:
    """The section or list below `tree`, made where there is none."""
    if isinstance(tree, list) and isinstance(part, int):
        tree.extend({} for _ in range(part + 1 - len(tree)))
        return tree[part]
    if not isinstance(tree, dict):
        return None
    if not isinstance(tree.get(part), (dict, list)):
        tree[part] = new
    return tree[part]


def _plain(value: Any) -> Any:
    if isinstance(value, Section):
        return {}
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value
