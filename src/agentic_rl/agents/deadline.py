"""Time-outs that cost next to nothing as long as nothing is late."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any

from agentic_rl.agents.errors import LateError

_INSIST_EVERY = 1.0
"""Seconds between cancellations of a task that swallows them."""
_INSISTENCES = 10
"""Cancellations after which a task counts as stuck, where someone wants to know."""


class Deadline:
    """A `with` block that the running task must leave within some seconds.

    A late block is cancelled, again and again if it swallows that, and leaves with `LateError`. Unlike
    `asyncio.wait_for` on Python 3.10 and 3.11 it makes no task of its own: one timer handle is all it costs.

    Args:
        seconds: how long the block may take.
        what: what takes that long, for the message.
        stuck: called, once, with the task and the error when the block has swallowed ten cancellations.
    """

    __slots__ = ("_cancellations", "_handle", "_loop", "_seconds", "_stuck", "_task", "_what", "expired")

    def __init__(
        self, seconds: float, what: str, stuck: Callable[[asyncio.Task[Any], LateError], None] | None = None
    ) -> None:
        self._seconds = seconds
        self._what = what
        self._stuck = stuck
        self._cancellations = 0
        self.expired = False

    def __enter__(self) -> Deadline:
        self._loop = asyncio.get_running_loop()
        task = asyncio.current_task(self._loop)
        if task is None:
            raise RuntimeError("a Deadline needs a running task")
        self._task = task
        self._handle = self._loop.call_later(self._seconds, self._cancel)
        return self

    def _cancel(self) -> None:
        self._task.cancel()
        if self.expired and sys.version_info >= (3, 11):
            self._task.uncancel()  # however often we insist, it is one cancellation
        self.expired = True
        self._cancellations += 1
        if self._cancellations == _INSISTENCES and self._stuck is not None:
            late = f"{self._what} took longer than {self._seconds:g} s, and swallowed {_INSISTENCES} cancellations"
            self._stuck(self._task, LateError(late))
        self._handle = self._loop.call_later(_INSIST_EVERY, self._cancel)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handle.cancel()
        if not self.expired:
            return
        if sys.version_info >= (3, 11) and self._task.uncancel() > 0:
            return  # someone else cancelled the task as well: that counts for more
        raise LateError(f"{self._what} took longer than {self._seconds:g} s") from error
