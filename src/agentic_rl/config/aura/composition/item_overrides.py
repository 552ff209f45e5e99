"""Overrides of keys in items of lists: `train_instances.0.name=A`, `AGENTIC_RL__TRAIN_INSTANCES__0__NAME=A`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.diagnostics import COMMAND_LINE, ENVIRONMENT, Finding
from agentic_rl.config.overrides import MISFIT, PREFIX, SYNTAX, Overridden, Override, override
from agentic_rl.config.source import ValueTextError, scalar

_PART = re.compile(r"[^.\[\]]+")


@dataclass(frozen=True)
class _Given:
    """One override, as it was written."""

    parts: list[str]
    text: str
    source: str
    written: str

    @property
    def key(self) -> str:
        """`a[0].b`."""
        first, *rest = self.parts
        return first + "".join(f"[{part}]" if part.isdecimal() else f".{part}" for part in rest)


def override_items(tree: dict[str, Any], arguments: Sequence[str], environ: Mapping[str, str]) -> Overridden:
    """Set all overrides in a copy of `tree`, those of keys in items of lists last."""
    given = [*_of_environment(environ), *_of_arguments(arguments)]
    written = {one.written for one in given}
    plain = {name: value for name, value in environ.items() if name not in written}
    result = override(tree, [one for one in arguments if one not in written], plain)
    if given:
        result.tree = deepcopy(result.tree)
    for one in given:  # the command line comes last, and wins
        try:
            value = scalar(one.text)
        except ValueTextError as error:
            result.findings.append(Finding(SYNTAX, "error", one.key, error.message, error.hint, one.source))
            continue
        problem = _set(result.tree, one.parts, value)
        if problem:
            message = f"{one.written} sets nothing: {problem}"
            hint = "name an item and a key that are there, items from 0"
            result.findings.append(Finding(MISFIT, "error", one.key, message, hint, one.source))
        else:
            result.overrides[one.key] = Override(one.key, value, one.source, one.written)
    return result


def _of_arguments(arguments: Sequence[str]) -> Iterator[_Given]:
    for argument in arguments:
        key, equals, text = argument.partition("=")
        parts = _PART.findall(key.strip())
        if equals and _names_item(parts):
            yield _Given(parts, text, COMMAND_LINE, argument)


def _of_environment(environ: Mapping[str, str]) -> Iterator[_Given]:
    for name in sorted(name for name in environ if name.startswith(PREFIX)):
        parts = name[len(PREFIX) :].lower().split("__")
        if _names_item(parts):
            yield _Given(parts, environ[name], ENVIRONMENT, name)


def _names_item(parts: Sequence[str]) -> bool:
    return bool(parts) and all(parts) and not parts[0].isdecimal() and any(part.isdecimal() for part in parts)


def _set(tree: Any, parts: Sequence[str], value: Any) -> str:
    """Set the value; what stands in the way, where something does."""
    *above, last = parts
    for depth, part in enumerate(above):
        here = ".".join(parts[:depth]) or "the file"
        if isinstance(tree, list):
            if not part.isdecimal() or int(part) >= len(tree):
                return f"{here} has {len(tree)} items, and none is {part}"
            tree = tree[int(part)]
        elif isinstance(tree, dict):
            missing = depth + 1 < len(parts) and parts[depth + 1].isdecimal() and not isinstance(tree.get(part), list)
            if missing:
                return f"{here} has no list {part}"
            if tree.get(part) is None:
                tree[part] = {}
            tree = tree[part]
        else:
            return f"{here} holds a value"
    return _put(tree, last, value, ".".join(above))


def _put(tree: Any, last: str, value: Any, here: str) -> str:
    if isinstance(tree, list) and last.isdecimal() and int(last) < len(tree):
        tree[int(last)] = value
    elif isinstance(tree, dict) and not isinstance(tree.get(last), dict):
        tree[last] = value
    elif isinstance(tree, dict):
        return f"{here}.{last} is a section"
    else:
        return f"{here} has no {last}"
    return ""
