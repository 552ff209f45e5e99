"""What a field accepts, read from its type: for messages and for the reference page."""

from __future__ import annotations

import types
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from agentic_rl.config.types import LARGEST, PathKind, RuleText

_WORDS = {"bool": "true or false", "int": "a whole number", "float": "a number", "text": "text", "path": "a path"}


@dataclass(frozen=True)
class Shape:
    """The type of a field, taken apart."""

    kind: Literal["bool", "int", "float", "text", "path", "choice", "list"] = "text"
    optional: bool = False
    """Whether null is a value."""
    choices: tuple[str, ...] = ()
    """Of the value or, in a list, of its items."""
    gt: float | None = None
    ge: float | None = None
    le: float | None = None
    """Bounds; that a whole number has at most 64 bits goes without saying."""
    path: PathKind | None = None
    text: str = ""
    """The rule in words, where the type gives them."""

    @property
    def item(self) -> Shape:
        """The shape of the items of a list."""
        return Shape("choice", choices=self.choices) if self.choices else Shape("text")

    @property
    def bounds(self) -> str:
        """The range in words, or nothing."""
        if self.le is not None:
            low = f"from {self.ge:g} to" if self.ge is not None else f"greater than {self.gt:g} and at most"
            return f"{low} {self.le:.10g}"
        if self.gt is not None:
            return f"greater than {self.gt:g}"
        return f"at least {self.ge:g}" if self.ge is not None else ""

    @property
    def rule(self) -> str:
        """What the field accepts, in words."""
        if self.text:
            words = self.text
        elif self.kind == "choice":
            words = "one of " + ", ".join(self.choices)
        elif self.kind == "list":
            words = "a list of distinct items of " + ", ".join(self.choices) if self.choices else "a list of texts"
        else:
            words = f"{_WORDS[self.kind]} {self.bounds}".rstrip().replace("number at", "number of at")
        return words + (", or null" if self.optional else "")

    def refuses(self, value: float) -> bool:
        """Whether a number is out of range."""
        low = (self.gt is not None and value <= self.gt) or (self.ge is not None and value < self.ge)
        return low or (self.le is not None and value > self.le)

    def nearest(self, value: float) -> float | int | None:
        """The accepted number next to `value`, which is out of range; None where an open end has no nearest one."""
        if self.le is not None and value > self.le:
            return _as(self.kind, self.le)
        if self.ge is not None and value < self.ge:
            return _as(self.kind, self.ge)
        if self.gt is not None and value <= self.gt and self.kind == "int":
            return int(self.gt) + 1
        return None


def shape_of(field: FieldInfo) -> Shape:
    """Take the type of `field` apart."""
    return _shape(field.annotation, field.metadata)


def _shape(annotation: Any, metadata: Iterable[Any]) -> Shape:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *extra = get_args(annotation)
        return _shape(inner, [*metadata, *_flat(extra)])
    if origin in (Union, types.UnionType):
        (inner,) = [arg for arg in get_args(annotation) if arg is not types.NoneType]
        return replace(_shape(inner, metadata), optional=True)
    return _constrained(_plain(annotation), metadata)


def _flat(metadata: Iterable[Any]) -> list[Any]:
    """Constraints given through `Field(...)` inside `Annotated` stand in a list of their own."""
    return [one for item in metadata for one in (item.metadata if isinstance(item, FieldInfo) else [item])]


def _plain(annotation: Any) -> Shape:
    if get_origin(annotation) is Literal:
        return Shape("choice", choices=get_args(annotation))
    if get_origin(annotation) is list:
        return Shape("list", choices=_plain(get_args(annotation)[0]).choices)
    if annotation is bool:
        return Shape("bool")
    if annotation is int:
        return Shape("int")
    return Shape("float" if annotation is float else "text")


def _constrained(shape: Shape, metadata: Iterable[Any]) -> Shape:
    for item in metadata:
        if isinstance(item, PathKind):
            shape = replace(shape, kind="path", path=item)
        elif isinstance(item, RuleText):
            shape = replace(shape, text=item.text)
        else:
            bounds = {name: getattr(item, name) for name in ("gt", "ge", "le") if hasattr(item, name)}
            shape = replace(shape, **{name: bound for name, bound in bounds.items() if abs(bound) != LARGEST})
    return shape


def _as(kind: str, value: float) -> float | int:
    return int(value) if kind == "int" else float(value)
