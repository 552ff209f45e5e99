"""Ends what an agent does in the thread of the event loop without ever awaiting: no time-out of the loop can.

A thread looks at whether the loop still turns. Where it does not, a signal interrupts the main thread, and its handler
raises, if what it interrupts is an agent's. It works where the loop is the main thread's, as in the local backend, and
not against code in C that keeps the interpreter's lock.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
from contextvars import ContextVar
from types import CodeType, FrameType, TracebackType

from agentic_rl.agents.errors import LateError
from agentic_rl.rollout.engines.queue import QueueEngine

ROLLOUT: ContextVar[bool] = ContextVar("ROLLOUT", default=False)
"""Whether what runs belongs to an agent's rollout; tasks that it starts inherit it."""
_LOGGER = logging.getLogger(__name__)
_SIGNAL = signal.SIGRTMIN + 7 if hasattr(signal, "SIGRTMIN") else None
"""One that no program is known to use."""
_LOOKS = 4
"""In the time that code may block."""
_ENGINE: CodeType = QueueEngine._work.__code__
"""An engine's task inherits the context of its first caller."""


class Watchdog:
    """A `with` block in a coroutine: agents may hold up its event loop for some seconds, and not much longer.

    Args:
        seconds: how long.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._every = seconds / _LOOKS
        self._ended = threading.Event()
        self._beat = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Watchdog:
        if _SIGNAL is not None and threading.current_thread() is threading.main_thread():
            signal.signal(_SIGNAL, _interrupt)
            self._live()
            threading.Thread(target=self._watch, name="watchdog", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._timer is not None:
            self._timer.cancel()

    def _live(self) -> None:
        """The loop turns."""
        self._beat = time.monotonic()
        self._timer = asyncio.get_running_loop().call_later(self._every, self._live)

    def _watch(self) -> None:
        while not self._ended.wait(self._every):
            if time.monotonic() - self._beat > self._seconds + self._every and not self._ended.is_set():
                _LOGGER.warning("nothing ran for %g s; if an agent blocks, it is interrupted", self._seconds)
                self._beat = time.monotonic()  # give what comes after the same time
                if _SIGNAL is not None:
                    signal.pthread_kill(threading.main_thread().ident or 0, _SIGNAL)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise in an agent's code, and do nothing to any other."""
    if not ROLLOUT.get():
        return
    while frame is not None:
        if frame.f_code is _ENGINE:
            return
        frame = frame.f_back
    raise LateError("blocking code held up all rollouts for longer than turn_timeout; write `run` without async")
