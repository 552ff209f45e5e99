"""What `${name:arguments}` gives: those of OmegaConf and Hydra that files and templates of the format have."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from agentic_rl.config.aura.composition.reference_text import BadReferenceError
from agentic_rl.config.source import parse


class Tree(Protocol):
    """What resolvers ask the tree that holds the reference."""

    environ: Mapping[str, str]

    def at(self, name: str, path: tuple[str | int, ...], shown: str) -> Any:
        """The value that a name refers to."""


Resolver = Callable[[Tree, Sequence[Any], tuple[str | int, ...], str], Any]


def _environment(tree: Tree, given: Sequence[Any], path: tuple[str | int, ...], shown: str) -> Any:
    """`oc.env:NAME,default`."""
    name = str(given[0])
    if name in tree.environ:
        return tree.environ[name]
    if len(given) > 1:
        return _plain(given[1])
    hint = f"export {name}=..., or a default: ${{oc.env:{name},VALUE}}"
    raise BadReferenceError(f"{shown}: the environment has no variable {name}", hint)


def _select(tree: Tree, given: Sequence[Any], path: tuple[str | int, ...], shown: str) -> Any:
    """`oc.select:key,default`: the default where there is no such key."""
    try:
        value = tree.at(str(given[0]), path, shown)
    except BadReferenceError:
        value = "???"
    if isinstance(value, str) and value == "???":
        return _plain(given[1]) if len(given) > 1 else None
    return value


def _hydra(tree: Tree, given: Sequence[Any], path: tuple[str | int, ...], shown: str) -> Any:
    """`hydra:runtime.cwd`: the folder in which the program was started."""
    if given[0] != "runtime.cwd":
        hint = "${hydra:runtime.cwd}, or the value itself"
        raise BadReferenceError(f"{shown}: of Hydra's own values, only runtime.cwd is known here", hint)
    try:
        return os.getcwd()  # noqa: PTH109 - as text
    except OSError:
        raise BadReferenceError(f"{shown}: the current folder was removed", "start in a folder that is there") from None


def _now(tree: Tree, given: Sequence[Any], path: tuple[str | int, ...], shown: str) -> Any:
    """`now:%Y-%m-%d`: the time."""
    try:
        return datetime.now().strftime(str(given[0]))
    except ValueError as error:
        raise BadReferenceError(f"{shown}: {error}", "${now:%Y-%m-%d}") from None


def _plain(given: Any) -> Any:
    """An argument that is text, read as a value in a file."""
    if not isinstance(given, str):
        return given
    document = parse(f"value: {given}", "")
    return document.tree["value"] if document.tree and not document.findings else given


RESOLVERS: dict[str, Resolver] = {"oc.env": _environment, "oc.select": _select, "hydra": _hydra, "now": _now}
