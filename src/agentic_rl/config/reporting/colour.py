"""Colour on a terminal, in the sixteen colours that every terminal has and its user chose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "fix": "32", "dim": "2"}


def wanted(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Whether to colour what goes to `stream`: on a terminal, unless NO_COLOR is set; anywhere with FORCE_COLOR.

    NO_COLOR wins over FORCE_COLOR, as in Python's own tracebacks.
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and stream.isatty()


def paint(text: str, style: str) -> str:
    """`text` in a style: a severity, `fix` or `dim`."""
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def plain(text: str, style: str) -> str:
    """`text` as it is; stands in for `paint`."""
    del style
    return text
