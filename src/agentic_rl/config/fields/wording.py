"""Values in messages: bounded, printable, and spelled as YAML spells them."""

from __future__ import annotations

import json
import re
from typing import Any

_PLAIN = re.compile(r"[A-Za-z/][\w./-]*")
_LONGEST = 60
_MOST_DIGITS = 20


def show(value: Any) -> str:
    """`value` as a person may have written it; never longer than a line."""
    if value is None or isinstance(value, (bool, float)):
        return yaml_text(value)
    if isinstance(value, int):
        return _whole_number(value)
    if isinstance(value, str):
        return repr(value) if len(value) <= _LONGEST else f"{value[:_LONGEST]!r}... ({len(value)} characters)"
    if isinstance(value, (list, dict)):
        return _collection(value)
    return type_words(value) if isinstance(value, (bytes, set)) else f"{value}"[:_LONGEST]


def type_words(value: Any) -> str:
    """What `value` is, with its article."""
    words = {
        "bool": "a switch",
        "int": "a whole number",
        "float": "a number",
        "str": "text",
        "list": "a list",
        "dict": "a mapping",
        "NoneType": "null",
        "date": "a date",
        "datetime": "a date with time",
        "bytes": "binary data",
        "set": "a set",
    }
    return words.get(type(value).__name__, f"a {type(value).__name__}")


def yaml_text(value: Any) -> str:
    """`value` as one would write it in YAML, on one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, list):
        return "[" + ", ".join(yaml_text(item) for item in value) + "]"
    if isinstance(value, str):
        return value if _PLAIN.fullmatch(value) else json.dumps(value)
    return show(value)


def yaml_line(name: str, value: Any) -> str:
    """`name: value`, with dots for a value that does not fit a line."""
    text = "..." if isinstance(value, dict) else yaml_text(value)
    return f"{name}: {text if len(text) <= _LONGEST else '...'}"


def _number(value: float) -> str:
    """Python's `1e-06` as `1.0e-6`, which every YAML reader takes for a number."""
    text = repr(value)
    if "e" not in text:
        return text
    mantissa, _, exponent = text.partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}e{int(exponent)}"


def _whole_number(value: int) -> str:
    # str() of more than 4300 digits raises, and nobody reads them.
    if abs(value) < 10**_MOST_DIGITS:
        return str(value)
    return f"a whole number of about {int(value.bit_length() * 0.30103) + 1} digits"


def _collection(value: list[Any] | dict[Any, Any]) -> str:
    if isinstance(value, dict):
        return f"a mapping of {len(value)} keys" if len(value) != 1 else "a mapping of 1 key"
    if len(value) <= 4 and all(isinstance(item, (str, int, float)) for item in value):
        text = "[" + ", ".join(show(item) for item in value) + "]"
        if len(text) <= _LONGEST:
            return text
    return f"a list of {len(value)} items" if len(value) != 1 else "a list of 1 item"
