"""Ctrl-C and SIGTERM: the first asks the run to stop after the last whole step, the second stops at once."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType, TracebackType
from typing import Any, TypeVar

from agentic_rl.backends.errors import StopRequestedError

Result = TypeVar("Result")

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While entered (in the main thread), signals set `requested` instead of breaking the run anywhere."""

    def __init__(self, on_first: Callable[[str], None] = lambda name: None) -> None:
        self.requested = False
        self._on_first = on_first
        self._cancel: Callable[[], object] | None = None
        self._earlier: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupts:
        # Python allows signal handlers in the main thread alone; elsewhere the program around us decides.
        if threading.current_thread() is threading.main_thread():
            self._earlier = {number: signal.signal(number, self._receive) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._earlier.items():
            signal.signal(number, handler)

    def check(self) -> None:
        """Raise `StopRequestedError` if a stop was asked for."""
        if self.requested:
            raise StopRequestedError

    def run(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Result]) -> Result:
        """Run `work` to its end, or cancel it when a stop is asked for.

        Raises:
            StopRequestedError: it was cancelled.
        """
        task = loop.create_task(work)
        self._cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            if self.requested:
                task.cancel()
            return loop.run_until_complete(task)
        except asyncio.CancelledError:
            raise StopRequestedError from None
        finally:
            self._cancel = None

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
        with contextlib.suppress(RuntimeError):  # we may have broken into a print, which can't print meanwhile
            self._on_first(signal.Signals(number).name)
        if self._cancel is not None:
            self._cancel()
