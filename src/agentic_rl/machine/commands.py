"""Asking programs of the machine, with a time limit."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence


class NoAnswerError(RuntimeError):
    """The program failed, or took too long; the message says which."""


def ask(command: Sequence[str], seconds: float) -> str | None:
    """What a program prints; None where it is not installed.

    Raises:
        NoAnswerError: it failed or took longer than `seconds`.
    """
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - fixed commands, no shell
            [program, *command[1:]], capture_output=True, text=True, errors="replace", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise NoAnswerError(f"{command[0]} gave no answer within {seconds:g} seconds") from None
    except OSError as error:
        raise NoAnswerError(f"{command[0]} can't be started: {error.strerror}") from None
    if done.returncode:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise NoAnswerError(f"{command[0]} failed: {words[-1][:200] if words else f'status {done.returncode}'}")
    return done.stdout
