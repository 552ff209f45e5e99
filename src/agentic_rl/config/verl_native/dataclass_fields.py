"""The fields of verl's configuration dataclasses, read from its source.

A node of the native configuration names its dataclass under `_target_`. Fields that the YAML does not show are valid
all the same (with `+` on Hydra's command line), and any other key there stops the worker that builds the dataclass.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PLACES = ("workers/config/*.py", "trainer/config/*.py", "utils/profiler/config.py", "utils/skip/config.py")
_QUANTIZATION = ("utils/qat/*.py",)


@dataclass(frozen=True)
class Definition:
    """A class as its source shows it."""

    bases: tuple[str, ...]
    fields: Mapping[str, str]
    """Field -> its annotation."""


@cache
def dataclass_fields(verl: Path) -> dict[str, dict[str, str]]:
    """Name of each configuration class of the package folder `verl` -> its fields with annotations, inherited ones too.

    Private names like `_target_` are left out.
    """
    definitions = dict(_definitions(verl))
    return {name: _with_inherited(name, definitions) for name in definitions}


def _with_inherited(name: str, definitions: Mapping[str, Definition]) -> dict[str, str]:
    definition = definitions.get(name)
    if definition is None:
        return {}
    inherited: dict[str, str] = {}
    for base in definition.bases:
        inherited |= _with_inherited(base, definitions)
    return inherited | dict(definition.fields)


def _definitions(verl: Path) -> Iterator[tuple[str, Definition]]:
    for place in (*_PLACES, *_QUANTIZATION):
        for path in sorted(verl.glob(place)):
            try:
                tree = ast.parse(path.read_bytes())
            except (OSError, SyntaxError, ValueError):
                continue
            for node in tree.body:
                if isinstance(node, ast.ClassDef):
                    yield node.name, Definition(tuple(_bases(node)), dict(_fields(node)))


def _bases(node: ast.ClassDef) -> Iterator[str]:
    for base in node.bases:
        if isinstance(base, (ast.Name, ast.Attribute)):
            yield ast.unparse(base).rpartition(".")[2]


def _fields(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    for line in node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.target.id[0] != "_":
            yield line.target.id, ast.unparse(line.annotation)
