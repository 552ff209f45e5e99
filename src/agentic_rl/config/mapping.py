"""A configuration that is a mapping already (a test, a notebook) as a document without places."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from agentic_rl.config.diagnostics import Finding, Place
from agentic_rl.config.source import Document
from agentic_rl.config.source.nodes import MAX_DEPTH, MAX_NODES, TOO_MUCH
from agentic_rl.config.source.values import KEY


class _TooMuchError(Exception):
    pass


def document_of(mapping: Mapping[Any, Any]) -> Document:
    """Copy `mapping` into a document: tuples become lists, paths text; keys that are not text are findings."""
    copier = _Copier()
    try:
        tree = copier.mapping(mapping, "", 0)
    except _TooMuchError as error:
        finding = Finding(TOO_MUCH, "error", "", str(error), "give a mapping of plain values")
        return Document("", findings=[finding], whole=False)
    return Document("", tree, copier.places, copier.findings)


class _Copier:
    def __init__(self) -> None:
        self.places: dict[str, Place] = {}
        self.findings: list[Finding] = []
        self._count = 0

    def mapping(self, mapping: Mapping[Any, Any], key: str, depth: int) -> dict[str, Any]:
        """The entries of one level whose keys are text."""
        tree: dict[str, Any] = {}
        for name, value in mapping.items():
            if not isinstance(name, str):
                message = f"the key {str(name)[:40]!r} is a {type(name).__name__}; keys are text"
                self.findings.append(Finding(KEY, "error", key, message, "write it as text"))
                continue
            tree[name] = self._value(value, f"{key}.{name}" if key else name, depth + 1)
        return tree

    def _value(self, value: Any, key: str, depth: int) -> Any:
        self._count += 1
        if depth > MAX_DEPTH or self._count > MAX_NODES:
            raise _TooMuchError(
                f"more than {MAX_DEPTH} levels of nesting or {MAX_NODES} values, or a mapping in itself"
            )
        self.places[key] = Place("")
        if isinstance(value, Mapping):
            return self.mapping(value, key, depth)
        if isinstance(value, (list, tuple)):
            return [self._value(item, f"{key}[{number}]", depth + 1) for number, item in enumerate(value)]
        return os.fspath(value) if isinstance(value, os.PathLike) else value
