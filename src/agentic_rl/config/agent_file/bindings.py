"""The statements of a file in their order, and the names that they bind."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator


def bound_names(module: ast.Module) -> set[str] | None:
    """The names that the top level of a module binds; None where something may bind any name."""
    names: set[str] = set()
    for node in statements(module.body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update((alias.asname or alias.name.partition(".")[0]) for alias in node.names)
        else:
            names.update(one.id for one in ast.walk(node) if isinstance(one, ast.Name) and _binds(one))
    return None if names & {"*", "__getattr__"} else names


def _binds(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in the order of the text, those inside of blocks too, but not those of functions and classes."""
    pending = [*body][::-1]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            pending.extend([*_inside(node)][::-1])


def _inside(node: ast.stmt) -> Iterator[ast.stmt]:
    yield from getattr(node, "body", ())
    for branch in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from branch.body
    yield from getattr(node, "orelse", ())
    yield from getattr(node, "finalbody", ())
