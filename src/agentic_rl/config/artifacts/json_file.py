"""JSON of a known, small kind, read within bounds: what is too large or no JSON is said in one sentence."""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from agentic_rl.config.artifacts.folder import Folder


class NotUsableError(ValueError):
    """Why the content of a file can't be used; the message goes into a finding after the file's path."""


def size_words(size: int) -> str:
    """`size` bytes as a person reads them."""
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} byte{'s' * (size != 1)}"


def bounded(file: BinaryIO, limit: int) -> bytes:
    """The whole content of `file`.

    Raises:
        NotUsableError: there are more than `limit` bytes.
    """
    data = file.read(limit + 1)
    if len(data) > limit:
        size = file.seek(0, 2)
        raise NotUsableError(f"has {size_words(size)}; a file of this kind has at most {size_words(limit)}")
    return data


def parse_object(data: bytes) -> dict[str, Any]:
    """The object that `data` holds as JSON.

    Raises:
        NotUsableError: it is no JSON, or another value.
    """
    try:
        tree = json.loads(data.decode())
    except UnicodeDecodeError:
        raise NotUsableError("is not UTF-8 text") from None
    except RecursionError:
        raise NotUsableError("is nested too deep") from None
    except ValueError as error:
        raise NotUsableError(_reason(data, error)) from None
    if not isinstance(tree, dict):
        raise NotUsableError("holds no JSON object")
    return tree


def read_object(folder: Folder, name: str, limit: int) -> dict[str, Any]:
    """The JSON object in the file `name` of `folder`.

    Raises:
        NotUsableError: it can't be opened, is larger than `limit` bytes, or holds no JSON object.
    """
    try:
        with folder.open(name) as file:
            data = bounded(file, limit)
    except OSError as error:
        raise NotUsableError(f"can't be opened: {error.strerror or error}") from error
    return parse_object(data)


def _reason(data: bytes, error: ValueError) -> str:
    if not data.strip():
        return "is empty"
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
    return "holds a number of thousands of digits"
