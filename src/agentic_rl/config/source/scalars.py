"""What a scalar of a YAML text means: YAML 1.1 as PyYAML reads it, with the numbers that people write.

Three departures from PyYAML, each because its value is never the one that was meant in a configuration:

- `1e-6`, `5E-7` and `1e3` are floats; PyYAML asks for a dot and a signed exponent, and gives text.
- Dates and base-60 numbers (`2024-05-01`, `1:30`) are text, as in YAML 1.2.
- An octal number whose decimal reading differs (`010`) and a number beyond the machine's range are doubts: the reader
  reports them instead of choosing.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

Scalar = str | int | float | bool | None

_NULLS = ("", "~", "null", "Null", "NULL")
_TRUE = ("yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_WORDS: dict[str, Scalar] = {
    **dict.fromkeys(_NULLS, None),
    **dict.fromkeys(_TRUE, True),
    **dict.fromkeys(_FALSE, False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_NUMBER_STARTS = frozenset("-+.0123456789")
_INT = re.compile(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]+|0|[1-9][0-9_]*)\Z")
_OCTAL = re.compile(r"[-+]?0[0-7_]+\Z")
_FLOAT = re.compile(
    r"[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+)\Z"
)
_LONGEST_INT = 40  # characters; far beyond 64 bits, and far below where Python refuses to print a number


class Reading(NamedTuple):
    """A scalar's value and, where the text is ambiguous, what to say about it."""

    value: Scalar
    doubt: str = ""
    """What is wrong (value and rule); empty when nothing is."""
    remedy: str = ""


def resolve(text: str) -> Reading:
    """Read a plain (unquoted) scalar."""
    if text in _WORDS:
        return Reading(_WORDS[text])
    if text[0] not in _NUMBER_STARTS:
        return Reading(text)
    if _INT.match(text):
        return _integer(text)
    if _FLOAT.match(text):
        return _float(text)
    return Reading(text)


def tagged(kind: str, text: str) -> Scalar:
    """Read a scalar with an explicit tag of YAML's own: `str`, `int`, `float`, `bool` or `null`.

    Raises:
        ValueError: the text is not of that kind.
    """
    if kind == "str":
        return text
    value = resolve(text).value
    if kind == "float" and type(value) is int:
        return float(value)
    if type(value).__name__ == {"null": "NoneType"}.get(kind, kind):
        return value
    raise ValueError(f"{text!r} is not of the kind !!{kind}")


def _integer(text: str) -> Reading:
    if len(text) > _LONGEST_INT:
        return Reading(text, f"{text[:_LONGEST_INT]}... is a number of {len(text)} digits", "quote it if it is text")
    try:
        if _OCTAL.match(text):
            return _octal(text)
        return Reading(int(text, 0))
    except ValueError:  # underscores that don't stand between digits: not a number that anyone means
        return Reading(text)


def _octal(text: str) -> Reading:
    octal, decimal = int(text, 8), int(text, 10)
    if octal == decimal:
        return Reading(octal)
    return Reading(
        octal,
        f"{text} begins with 0: older YAML reads it as the octal number {octal}, newer YAML as {decimal}",
        f"write {decimal} or {octal}, or quote it if it is text: '{text}'",
    )


def _float(text: str) -> Reading:
    try:
        value = float(text)
    except ValueError:  # misplaced underscores, as above
        return Reading(text)
    if math.isinf(value):
        return Reading(text, f"{text} is beyond the largest float (about 1.8e308)", "quote it if it is text")
    if value == 0 and re.match(r"[-+]?[0._]*[1-9]", text):
        return Reading(text, f"{text} is below the smallest float and would become 0", "write 0.0 if 0 is meant")
    return Reading(value)
