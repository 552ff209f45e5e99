"""The source line of a finding, with carets below its key."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from agentic_rl.config.reporting.printable import same_length

WIDEST = 100
"""Characters of a source line that are shown; of a longer one, those around the column."""
_BEFORE = 30


def excerpt(
    lines: Sequence[str],
    place: tuple[int | None, int | None],
    key: str,
    severity: str,
    paint: Callable[[str, str], str],
) -> list[str]:
    """Two lines for the report; none where there is no such line, or where it says nothing about `key`."""
    line, column = place
    if line is None or column is None or not 0 < line <= len(lines) or not lines[line - 1].strip():
        return []
    source, index, name = same_length(lines[line - 1]), column - 1, key.rpartition(".")[2]
    spelled = bool(name) and source.startswith(name, index)
    if key and place == (1, 1) and not spelled:
        return []  # a key that is not written is reported at the start of the file, which has nothing to do with it
    start = max(0, min(index - _BEFORE, len(source) - WIDEST)) if len(source) > WIDEST else 0
    shown = source[start : start + WIDEST]
    shown = ("…" if start else "") + shown + ("…" if start + WIDEST < len(source) else "")
    indent = " " * (_width(source[start:index]) + bool(start))
    number = str(line)
    carets = "^" * (_width(name) if spelled else 1)
    return [
        "    " + paint(f"{number} | ", "dim") + shown.rstrip(),
        "    " + paint(" " * len(number) + " | ", "dim") + indent + paint(carets, severity),
    ]


def _width(text: str) -> int:
    """Columns of a terminal: two for a wide character, none for a mark on the one before."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(one) else 1 + (unicodedata.east_asian_width(one) in "WF") for one in text)
