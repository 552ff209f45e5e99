"""Search through the conversations, a slice of the file at a time."""

from __future__ import annotations

import json
import time
from typing import Any

from agentic_rl.view.index import Index
from agentic_rl.view.messages import searchable

SECONDS = 0.5
"""Of one slice."""
_CHUNK = 64


def search(index: Index, wanted: str, start: int) -> dict[str, Any]:
    """Rollouts from the `start`-th on whose messages or error contain `wanted`, letters of either case alike.

    Returns:
        `hits`, the numbers of the rollouts; `next`, where to go on, None at the end; `generation`.

    Raises:
        OSError: the file can't be read.
    """
    needle = wanted.casefold()
    raw = _ascii_of(wanted)
    hits: list[int] = []
    row = max(start, 0)
    until = time.monotonic() + SECONDS
    with index.path.open("rb") as file:
        while True:
            with index.reading() as (columns, progress):
                stop = min(row + _CHUNK, len(columns))
                places = list(zip(columns.offset[row:stop], columns.length[row:stop], strict=True))
            for offset, length in places:
                file.seek(offset)
                if _contains(file.read(length), needle, raw):
                    hits.append(row)
                row += 1
            if not places or time.monotonic() > until:
                return {"hits": hits, "next": row if places else None, "generation": progress.generation}


def _ascii_of(wanted: str) -> bytes:
    r"""The longest piece of a text that stands in a line as it is, whatever the case of its letters.

    A line without it can't have the text; most lines are passed over by that, without being parsed. JSON writes other
    letters as `\uXXXX`, and those of other case differ there.
    """
    pieces = "".join(letter if " " <= letter <= "~" and letter not in '"\\' else "\n" for letter in wanted).split("\n")
    return max(pieces, key=len).lower().encode()


def _contains(line: bytes, needle: str, raw: bytes) -> bool:
    if raw not in line.lower():
        return False
    try:
        record = json.loads(line)
        texts = searchable(record.get("messages"), str(record.get("error", "")))
    except (ValueError, AttributeError, RecursionError):
        return False
    return needle in texts.casefold()
