"""Looking at JSON rows: which column holds the prompts, and the text of the long ones.

A row is parsed only where its line is long enough to hold a long prompt: JSON never spells a text with fewer bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

from agentic_rl.config.artifacts.task_rows import MOST_KEPT, Rows

PROMPTS = ("prompt", "problem", "question", "query", "instruction")
"""Columns that hold what a task asks, in data as it is published; those of answers are not shown to the policy."""
WHOLE = 32 << 20
"""Bytes up to which every line of a file is looked at; of a larger one, blocks spread over it."""
MOST_PARSED, LONGEST_PARSED = 16 << 20, 4 << 20
"""Bytes of long rows that are parsed, in all and of one."""
BLOCKS, BLOCK = 64, 1 << 19


def prompt_column(wanted: Sequence[str], columns: Iterable[str]) -> str | None:
    """The column of the prompts among those that the agent is given; None where none is called like one."""
    there = set(columns).intersection(wanted)
    return next((name for name in PROMPTS if name in there), None)


def look_at_lines(file: BinaryIO, column: str, longer_than: int, keep: int) -> Rows:
    """Look at the rows of a JSONL file.

    Kept are the first `keep` characters of prompts of more bytes than `longer_than`.
    """
    rows, parsed = Rows(), 0
    for line in _lines(file):
        if line.isspace():
            continue
        if len(line) > LONGEST_PARSED:
            rows.long += 1  # and not looked into, so that nobody takes the count for a complete one
        elif len(line) > longer_than:
            parsed += len(line)
            if parsed > MOST_PARSED or len(rows.texts) >= MOST_KEPT:
                break
            _look(_object(line), column, longer_than, keep, rows)
        rows.seen += 1
    return rows


def look_at_objects(objects: Iterable[dict[str, Any]], column: str | None, longer_than: int, keep: int) -> Rows:
    """Look at rows that were parsed, each of them; see `look_at_lines`. Without a column they are counted."""
    rows = Rows()
    for row in objects:
        if column:
            _look(row, column, longer_than, keep, rows)
        rows.seen += 1
    return rows


def _look(row: dict[str, Any], column: str, longer_than: int, keep: int, rows: Rows) -> None:
    text = _text(row.get(column))
    if len(text.encode(errors="replace")) > longer_than:
        rows.long += 1
        if len(rows.texts) < MOST_KEPT:
            rows.texts.append(text[:keep])


def _text(prompt: Any) -> str:
    """The text of a prompt: it is one, or a list of chat messages."""
    if isinstance(prompt, str):
        return prompt
    messages = prompt if isinstance(prompt, list) else []
    contents = (message.get("content") for message in messages if isinstance(message, dict))
    return "".join(content for content in contents if isinstance(content, str))


def _object(line: bytes) -> dict[str, Any]:
    """The row in a line; an empty one where it holds none, which the run tells when it reads the file."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file, of a large one those that lie whole in blocks spread over it."""
    size = file.seek(0, os.SEEK_END)
    if size <= WHOLE:
        file.seek(0)
        yield from file
        return
    for number in range(BLOCKS):
        start = number * (size - BLOCK) // (BLOCKS - 1)
        file.seek(start)
        lines = file.read(BLOCK).splitlines(keepends=True)
        yield from lines[1 if start else 0 : -1]
