from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_rl.machine.commands import NoAnswerError, ask

Program = Callable[[str, str], None]


def test_what_a_program_prints(program: Program) -> None:
    program("tell", "echo $1 two")
    assert ask(("tell", "one"), 5) == "one two\n"


def test_a_program_that_is_not_installed_has_no_answer(program: Program) -> None:
    assert ask(("nothing-of-this-name",), 5) is None


def test_a_program_that_fails_is_quoted(program: Program) -> None:
    program("broken", "echo first >&2; echo driver not loaded >&2; exit 9")
    with pytest.raises(NoAnswerError, match=r"^broken failed: driver not loaded$"):
        ask(("broken",), 5)
    program("silent", "exit 9")
    with pytest.raises(NoAnswerError, match="silent failed: status 9"):
        ask(("silent",), 5)


def test_a_program_that_hangs_is_given_up(program: Program) -> None:
    program("hangs", "exec /bin/sleep 30")
    began = time.monotonic()
    with pytest.raises(NoAnswerError, match=r"no answer within 0\.2 seconds"):
        ask(("hangs",), 0.2)
    assert time.monotonic() - began < 10


def test_a_file_that_is_no_program_is_told(program: Program) -> None:
    program("text", "")
    Path(str(shutil.which("text"))).write_bytes(b"\x7fELF nothing")
    with pytest.raises(NoAnswerError, match="text can't be started"):
        ask(("text",), 5)
