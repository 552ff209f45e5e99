"""Runs the policy's code as the program of this process."""

from __future__ import annotations

import ast
import linecache
import sys
import threading
import traceback
from types import CodeType, ModuleType, TracebackType

_NAME = "<python>"


def run(text: str) -> int:
    """Run `text` like a program; the value of an expression in its last line is printed, as at a prompt.

    Returns:
        The status that the process should end with.
    """
    main = ModuleType("__main__")
    sys.modules["__main__"] = main
    linecache.cache[_NAME] = (len(text), None, text.splitlines(keepends=True), _NAME)
    sys.argv = [_NAME]
    try:
        for part in _parts(text):
            exec(part, main.__dict__)  # noqa: S102 - what the sandbox is for
        _wait_for_threads()
    except SystemExit as end:
        return _status(end)
    except BaseException as error:  # whatever the code raises is its own
        _tell(error)
        return 1
    return 0


def _parts(text: str) -> list[CodeType]:
    tree = ast.parse(text, _NAME)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        return [compile(tree, _NAME, "exec")]
    tree.body.pop()
    return [compile(tree, _NAME, "exec"), compile(ast.Interactive([last]), _NAME, "single")]


def _wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _status(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return (end.code or 0) & 0xFF
    print(end.code, file=sys.stderr)
    return 1


def _tell(error: BaseException) -> None:
    """Print the traceback without the frames of this file."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename != _NAME:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace, limit=-20)


def open_streams() -> None:
    """Make standard output and standard error anew; each line leaves at once, in case the process is stopped."""
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - they stay open as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", errors="replace", buffering=1, closefd=False)  # noqa: SIM115
