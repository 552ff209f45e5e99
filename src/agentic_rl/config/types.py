"""The constrained types of the configuration formats.

Ranges and choices stand in the type, so that the JSON Schema and the reference page carry them. Number types refuse
NaN and infinity wherever they are used: the models that use them set `allow_inf_nan=False` and `strict=True`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from agentic_rl.config.agent_places import PATTERN as AGENT_PLACE

Kind = Literal["file", "folder", "any", "prefix"]


@dataclass(frozen=True)
class PathKind:
    """Marks a text as a secure path and says what must stand there; a `prefix` stands for the files `PREFIX*`."""

    kind: Kind
    address: bool = False
    """Whether an address (`http://...`) may stand in its place, to which the rules of paths do not apply."""


@dataclass(frozen=True)
class RuleText:
    """The constraint in words, where the words derived from the type would not say it."""

    text: str


LARGEST = 2**63 - 1
"""Backends hold whole numbers in 64 bits, and Python does not even print one of more than 4300 digits."""

Integer = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
PositiveInt = Annotated[int, Field(gt=0, le=LARGEST)]
NonNegativeInt = Annotated[int, Field(ge=0, le=LARGEST)]
PositiveFloat = Annotated[float, Field(gt=0)]
NonNegativeFloat = Annotated[float, Field(ge=0)]
UnitInterval = Annotated[float, Field(ge=0, le=1)]
"""[0, 1]"""
PositiveFraction = Annotated[float, Field(gt=0, le=1)]
"""(0, 1]"""


def _refuse_none(value: str) -> str:
    if value in ("None", "none", "nil"):
        raise PydanticCustomError("none_as_text", "the text None is not null")
    return value


_NotNone = AfterValidator(_refuse_none)
"""For text other than `None`, which YAML reads as four letters and people mean as null."""


def _refuse_python_none(value: str) -> str:
    return _refuse_none(value) if value == "None" else value


Text = Annotated[str, _NotNone]
AnyPath = Annotated[str, Field(min_length=1, max_length=1024), _NotNone]
SecureFile = Annotated[AnyPath, PathKind("file")]
SecureFolder = Annotated[AnyPath, PathKind("folder")]
SecurePath = Annotated[AnyPath, PathKind("any")]
SecurePrefix = Annotated[AnyPath, PathKind("prefix")]

ADDRESSES = ("http://", "https://")
"""How an address begins, in any letters."""


def is_address(value: str) -> bool:
    """Whether a text is an address, not a path."""
    return value.lower().startswith(ADDRESSES)


def _refuse_no_host(value: str) -> str:
    if is_address(value) and not re.match(r"[a-z]+://[^/?#\s]+\S*\Z", value, re.IGNORECASE):
        raise PydanticCustomError("no_host", "an address without a host")
    return value


FileOrAddress = Annotated[
    AnyPath,
    PathKind("file", address=True),
    AfterValidator(_refuse_no_host),
    RuleText("the secure path of a file, or an address, http://... or https://..."),
]

AgentName = Annotated[
    str,
    Field(pattern=rf"^([A-Za-z][A-Za-z0-9_]*|{AGENT_PLACE})$"),
    _NotNone,
    RuleText("a letter followed by letters, digits and underscores, or a place such as package.module:Class"),
]
"""The documented form of a name, and ours: a place, which a colon tells apart from every such name."""

FolderName = Annotated[
    str,
    Field(max_length=255, pattern=r"^([^/\\\x00-\x1f\x7f]*[^/\\\x00-\x1f\x7f.][^/\\\x00-\x1f\x7f]*|\.{3,})$"),
    AfterValidator(_refuse_python_none),  # a name is never null, and `none` is one
    RuleText("the name of one folder: not empty, without / and backslash, not . or .."),
]


def _refuse_zero(value: int) -> int:
    if value == 0:
        raise PydanticCustomError("zero", "must not be 0")
    return value


Interval = Annotated[
    int,
    Field(ge=-1, le=LARGEST, json_schema_extra={"not": {"const": 0}}),
    AfterValidator(_refuse_zero),
    RuleText("-1 (never) or a whole number greater than 0"),
]

Item = TypeVar("Item")


def _refuse_repetition(items: list[Item]) -> list[Item]:
    if any(item in items[:index] for index, item in enumerate(items)):
        raise PydanticCustomError("repeated_item", "items must be distinct")
    return items


DistinctList = Annotated[
    list[Item],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    AfterValidator(_refuse_repetition),
]
"""A list that is not empty and names nothing twice."""
