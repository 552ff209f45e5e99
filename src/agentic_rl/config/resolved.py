"""The configuration that a run writes into its folder: every key is there, also those that nobody wrote.

Its first line says so. Read again, its defaults count as defaults: nobody wants to hear that they have no effect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from agentic_rl.config.flat.names import SECTIONS, field_of, model_of
from agentic_rl.config.source import Document

MARK = "# As a run of agentic-rl used it: every key is written, also where its value is the default."
STATED = frozenset({"entropy_coeff"})
"""Keys whose default counts as written all the same: what is said of it is that somebody should decide."""


def to_yaml(configuration: Mapping[str, Any]) -> str:
    """The text of the file."""
    return f"{MARK}\n{yaml.safe_dump(dict(configuration), sort_keys=False, allow_unicode=True)}"


def written(document: Document, tree: dict[str, Any]) -> dict[str, Any]:
    """What of `tree`, the document's, a person wrote: all of it, but for the defaults of a run's own file."""
    return _without_defaults(tree, "") if document.lines[:1] == [MARK] else tree


def _without_defaults(tree: dict[str, Any], level: str) -> dict[str, Any]:
    kept = {}
    for name, value in tree.items():
        if not level and name in SECTIONS and isinstance(value, dict):
            kept[name] = _without_defaults(value, name)
        elif not _is_default(level, name, value):
            kept[name] = value
    return kept


def _is_default(level: str, name: str, value: Any) -> bool:
    if name not in model_of(level).model_fields or name in STATED:
        return False
    default = field_of(level, name).get_default(call_default_factory=True)
    return bool(value == default) and isinstance(value, bool) == isinstance(default, bool)
