"""Blocking functions beside an event loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


async def run_in_thread(function: Callable[[], Result], name: str) -> Result:
    """Await a blocking function that runs in a daemon thread of its own.

    A function that never returns can be given up by cancelling the await. Its thread then stays behind, but it
    keeps neither the event loop nor the process from ending, as a thread of asyncio's own pool would.
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
            error = RuntimeError("StopIteration") if isinstance(raised, StopIteration) else raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, result, error)

    threading.Thread(target=work, name=name, daemon=True).start()
    return await future
