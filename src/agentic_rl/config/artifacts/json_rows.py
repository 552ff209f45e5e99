"""The first rows of a JSON or JSONL file, from its first megabyte, and all of a small one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

from agentic_rl.config.artifacts.json_file import NotUsableError, size_words

HEAD = 1 << 20
MOST_ROWS = 100
_BETWEEN = " \t\r\n,"


def first_rows(file: BinaryIO) -> list[dict[str, Any]]:
    """The first objects of a list, of a text with an object a line, or of objects one after the other.

    Raises:
        NotUsableError: there is none, or something else stands among them.
    """
    data = file.read(HEAD)
    more = bool(file.read(1))
    if not data.strip():
        raise NotUsableError("is empty")
    # A character may be cut at the end of the first megabyte; elsewhere bytes that are no UTF-8 are a fault.
    text = data.decode("utf-8-sig", errors="replace" if more else "strict") if more else _decoded(data)
    rows = list(_objects(text, more=more))
    if not rows:
        raise NotUsableError("holds no rows")
    return rows


def all_rows(file: BinaryIO, limit: int) -> Iterator[dict[str, Any]] | None:
    """The objects in the file, one after the other; None where it has more than `limit` bytes.

    Raises:
        NotUsableError: something else stands among them; told when it is reached.
    """
    data = file.read(limit + 1)
    return _objects(_decoded(data), most=len(data)) if len(data) <= limit else None


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise NotUsableError(f"is not UTF-8 text (byte {error.start})") from None


def _objects(text: str, *, most: int = MOST_ROWS, more: bool = False) -> Iterator[dict[str, Any]]:
    """The objects in `text`; with `more` behind it, its last one may be cut."""
    decoder = json.JSONDecoder()
    is_list = text.lstrip().startswith("[")
    position = len(text) - len(text.lstrip()) + is_list
    for number in range(1, most + 1):
        while position < len(text) and text[position] in _BETWEEN:
            position += 1
        if position == len(text) or (is_list and text[position] == "]"):
            return
        try:
            row, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            if more and number > 1:
                return
            raise NotUsableError(_reason(error, number, more=more)) from None
        if not isinstance(row, dict):
            raise NotUsableError(f"holds a {type(row).__name__} as row {number}; a row must be an object")
        yield row


def _reason(error: ValueError | RecursionError, number: int, *, more: bool) -> str:
    if isinstance(error, RecursionError):
        return f"is nested too deep in row {number}"
    if more:
        return f"has no whole row in its first {size_words(HEAD)}, or is not JSON"
    place = f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
    return f"is not JSON in row {number}{place}"
