"""A job must not outlive the process that started it."""

from __future__ import annotations

import os
import signal
import threading
import time

PARENT = "AGENTIC_RL_PARENT"
"""The number of the process that started us."""
GRACE_SECONDS = 30.0
_LOOK_SECONDS = 0.5


def end_with_parent(grace: float = GRACE_SECONDS) -> None:
    """Stop when the process that started us is no more, however it died: nobody would end us then.

    We are asked twice, as by Ctrl-C, `grace` seconds apart, and killed with all processes of our group after as many.
    """
    parent = os.environ.get(PARENT)
    if parent is not None:
        threading.Thread(target=_watch, args=(int(parent), grace), daemon=True).start()


def end_with_own_parent() -> None:
    """The same for a program that people start, too: only where its own parent is the one that is meant.

    A shell in between, which inherited the variable, ends by itself.
    """
    if os.environ.get(PARENT) == str(os.getppid()):
        end_with_parent()


def _watch(parent: int, grace: float) -> None:
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    for number in (signal.SIGTERM, signal.SIGTERM):
        os.kill(os.getpid(), number)
        time.sleep(grace)
    os.killpg(0, signal.SIGKILL)
