"""The base of every level of the flat format."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Level(BaseModel):
    """Keys that stand side by side. Field docstrings are the documentation; `documentation.py` reads them.

    Pydantic could attach the docstrings itself (`use_attribute_docstrings`), but that costs every start of the
    program about 45 ms of parsing for text that only the JSON Schema and the reference page show. Building is deferred
    because only `FlatConfig` is ever validated with.
    """

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,
        protected_namespaces=(),
    )
