"""The docstrings of fields, read from the source when the schema or the reference page is wanted."""

from __future__ import annotations

import ast
import inspect
from functools import cache

from pydantic import BaseModel


@cache
def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """Field -> its documentation on one line, for the fields of `model` and of its bases."""
    docs: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            docs.update(_own_docs(base))
    return docs


def _own_docs(model: type[BaseModel]) -> dict[str, str]:
    (definition,) = ast.parse(inspect.getsource(model)).body
    if not isinstance(definition, ast.ClassDef):
        return {}
    return {
        statement.target.id: " ".join(following.value.value.split())
        for statement, following in zip(definition.body, definition.body[1:], strict=False)
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and isinstance(following, ast.Expr)
        and isinstance(following.value, ast.Constant)
        and isinstance(following.value.value, str)
    }
