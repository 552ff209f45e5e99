"""From a file's bytes to its syntax tree, or to one finding."""

from __future__ import annotations

import ast
import io
import os
import sys
import threading
import warnings
from tokenize import detect_encoding

from agentic_rl.config.agent_file.pages import NOT_TEXT, SYNTAX
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.rules import Page
from agentic_rl.config.secure_paths.pages import UNREADABLE

MAX_BYTES = 1 << 20


class _UnusableError(Exception):
    """Why there is no tree: page, message, hint, and line and column where they are known."""

    def __init__(self, page: Page, message: str, hint: str, place: tuple[int, int] = (1, 1)) -> None:
        super().__init__(message)
        self.page = page
        self.hint = hint
        self.place = place


def parse_file(path: str, key: str) -> ast.Module | Finding:
    """The syntax tree of the Python file at `path`; it is not run."""
    try:
        return _parse(_checked_text(_read(path)))
    except _UnusableError as error:
        return Finding(error.page.code, error.page.severity, key, str(error), error.hint, path, *error.place)


def _checked_text(data: bytes) -> bytes:
    if len(data) > MAX_BYTES:
        message = "the agent file is larger than 1 MiB; an agent file is at most that"
        raise _UnusableError(NOT_TEXT, message, "keep data in files of their own")
    if b"\0" in data:
        message = "the agent file holds a NUL character; Python text has none"
        raise _UnusableError(NOT_TEXT, message, "is this the right file?", _place(data, data.index(b"\0")))
    undecodable = _undecodable(data)
    if undecodable is not None:
        message = f"byte 0x{data[undecodable]:02x} of the agent file is not UTF-8"
        raise _UnusableError(NOT_TEXT, message, "save the file as UTF-8", _place(data, undecodable))
    return data


def _parse(data: bytes) -> ast.Module:
    try:
        with warnings.catch_warnings():  # an unknown escape in a string warns; it is not ours to report
            warnings.simplefilter("ignore")
            return tree_of(data)
    except SyntaxError as error:
        place = (max(error.lineno or 1, 1), max(error.offset or 1, 1))
        raise _UnusableError(
            SYNTAX, f"the agent file is not valid Python: {error.msg}", "correct it at this place", place
        ) from error
    except (RecursionError, MemoryError) as error:
        message = "an expression in the agent file is nested too deep for Python"
        raise _UnusableError(NOT_TEXT, message, "take the expression apart") from error


def tree_of(data: bytes) -> ast.Module:
    """The syntax tree of a file's bytes, with room for deep ones.

    Raises:
        SyntaxError, ValueError: they are no Python.
        RecursionError, MemoryError: they are nested too deep.
    """
    if sys.version_info >= (3, 11):
        return ast.parse(data)
    return _tree_on_large_stack(data)


def _tree_on_large_stack(data: bytes) -> ast.Module:
    """Parse where there is room: up to Python 3.10 a chain of 100,000 attributes overflows the stack and kills us.

    Given room, that parser has no limit of its own, but the compiler has: such a file could not be imported.
    """
    from concurrent.futures import ThreadPoolExecutor

    before = threading.stack_size(256 << 20)
    try:
        with ThreadPoolExecutor(1) as pool:
            tree = pool.submit(ast.parse, data).result()
    finally:
        threading.stack_size(before)
    _check_depth(tree, 3 * sys.getrecursionlimit())  # what newer parsers allow
    return tree


def _check_depth(tree: ast.Module, limit: int) -> None:
    level: list[ast.AST] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise RecursionError


def _read(path: str) -> bytes:
    """At most one byte more than allowed, never through a link or waiting for a pipe."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        message = f"the agent file can't be read: {error.strerror}"
        raise _UnusableError(UNREADABLE, message, "write the path of a Python file") from error


def _undecodable(data: bytes) -> int | None:
    """Where UTF-8 ends to be UTF-8; None in a file that says it has another encoding."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        try:
            encoding, _ = detect_encoding(io.BytesIO(data).readline)
        except SyntaxError:
            return error.start
        return error.start if encoding.startswith("utf-8") else None
    return None


def _place(data: bytes, index: int) -> tuple[int, int]:
    line_start = data.rfind(b"\n", 0, index) + 1
    return data.count(b"\n", 0, index) + 1, len(data[line_start:index].decode(errors="replace")) + 1
