"""Agents named by their place, `package.module:Class`: looked for without importing the module."""

from __future__ import annotations

import importlib.util
import re
from difflib import get_close_matches
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from agentic_rl.config.agent_file.bindings import bound_names
from agentic_rl.config.agent_file.reading import tree_of

PATTERN = r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*:[A-Za-z_][A-Za-z0-9_]*"
_LARGEST = 1 << 20
"""Bytes of a module that is looked into."""


def is_place(name: str) -> bool:
    """Whether a name is a place; the names of agents have no colon."""
    return re.fullmatch(PATTERN, name) is not None


def place_problem(place: str) -> tuple[str, str] | None:
    """Why there is no agent at a place, and the remedy; None where there may be one: only an import could tell."""
    module, _, attribute = place.partition(":")
    spec: ModuleSpec | None = None
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        spec = _spec(name, spec)
        if spec is None:
            return f"there is no module {name}", "install its package, or put its folder on the PYTHONPATH"
    names = _names(spec)
    if names is None or attribute in names:
        return None
    near = get_close_matches(attribute, sorted(names), 1)
    remedy = f"agent_name: {module}:{near[0]}" if near else "name a class, an object or a function of that module"
    return f"{module} has no {attribute}", remedy


def _spec(name: str, parent: ModuleSpec | None) -> ModuleSpec | None:
    """Find a module as Python does, but without importing the packages above it."""
    try:
        if parent is None:
            return importlib.util.find_spec(name)
        # By its last name: a folder without __init__.py would look for the packages above it among those imported.
        return PathFinder.find_spec(name.rpartition(".")[2], list(parent.submodule_search_locations or ()))
    except (ImportError, ValueError):  # ValueError: a module of this process that came from nowhere
        return None


def _names(spec: ModuleSpec | None) -> set[str] | None:
    """What a module's top level defines; None where its source can't be read, or leaves it open."""
    file = Path(spec.origin) if spec and spec.origin else None
    try:
        if file is None or file.suffix != ".py" or file.stat().st_size > _LARGEST:
            return None
        return bound_names(tree_of(file.read_bytes()))
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
