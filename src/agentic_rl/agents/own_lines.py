"""Which line of a user's own file an error came from."""

from __future__ import annotations

import sys
import traceback

_LONGEST = 4000
"""Characters of an error's text that a trajectory keeps."""


def constructor_line(one: type, file: str) -> int | None:
    """Return the line where `file` defines the constructor of a class, None if the class inherits it."""
    code = getattr(vars(one).get("__init__"), "__code__", None)
    return code.co_firstlineno if code is not None and code.co_filename == file else None


def user_file(one: type) -> str | None:
    """Return the file that defines a class, None if that is one of this package or there is none."""
    if one.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return None
    return getattr(sys.modules.get(one.__module__), "__file__", None)


def with_own_line(error: BaseException, file: str | None) -> str:
    """Return the type and the text of `error`, and the innermost line of the user's `file` that it passed."""
    text = f"{type(error).__name__}: {said(error)}"
    line = own_line(error, file) if file else None
    return text if line is None else f"{text} ({file}:{line})"


def said(error: BaseException) -> str:
    """Return the text of an error, however long it is and whoever wrote its class."""
    try:
        text = str(error)
    except Exception as second:
        return f"(no text: {type(second).__name__})"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def own_line(error: BaseException, file: str) -> int | None:
    """Return the innermost line of `file` that `error` passed, None if it passed none."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
