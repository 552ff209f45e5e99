"""Blocking functions beside an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

from agentic_rl.agents.errors import EscapedError

Result = TypeVar("Result")


async def run_in_thread(function: Callable[[], Result], name: str) -> Result:
    """Await a blocking function that runs in a daemon thread of its own.

    A function that never returns can be given up by cancelling the await. Its thread then stays behind, but it
    keeps neither the event loop nor the process from ending, as a thread of asyncio's own pool would.

    Raises:
        EscapedError: the function raised a KeyboardInterrupt of its own (the user's reaches the main thread alone), or
            another exception that would end more than the function.
        BaseException: what else the function raised.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Result] = loop.create_future()
    context = contextvars.copy_context()

    def deliver(result: Result | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]  # no error: result is the function's

    def work() -> None:
        result: Result | None = None
        error: BaseException | None = None
        try:
            result = context.run(function)
        except BaseException as raised:  # it is raised again where the result is awaited
            error = _deliverable(raised)
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, result, error)

    threading.Thread(target=work, name=name, daemon=True).start()
    return await future


def _deliverable(raised: BaseException) -> BaseException:
    if isinstance(raised, StopIteration):  # no future takes it
        return RuntimeError("StopIteration")
    if isinstance(raised, (Exception, SystemExit, asyncio.CancelledError)):
        return raised
    escaped = EscapedError(f"{type(raised).__name__}: {raised}")
    escaped.__cause__ = raised
    return escaped
