"""Calling what a user wrote, which may be plain or `async`, and may block."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import EscapedError
from agentic_rl.agents.threads import run_in_thread

DEFAULT_TIMEOUT: ContextVar[float] = ContextVar("DEFAULT_TIMEOUT", default=600.0)
"""Seconds that a call may take where nothing else says so; the driver sets it to `turn_timeout`."""


async def call(
    function: Callable[..., Any], *arguments: Any, what: str, seconds: float | None = None, inline: bool = False
) -> Any:
    """Await a function: an `async` one on the event loop, any other one in a thread of its own.

    Args:
        function: what to call.
        *arguments: what to call it with.
        what: its name in messages.
        seconds: what it may take; `DEFAULT_TIMEOUT` where left out.
        inline: it is a plain function to call right here, without thread and time-out.

    Raises:
        LateError: it took longer. What runs in a thread can't be stopped: it is left behind.
        EscapedError: it tried to end the program.
    """
    try:
        if inline:
            return function(*arguments)
        with Deadline(DEFAULT_TIMEOUT.get() if seconds is None else seconds, what):
            if not inspect.iscoroutinefunction(function):
                result = await run_in_thread(partial(function, *arguments), what)
            else:
                result = function(*arguments)
            return await result if inspect.isawaitable(result) else result
    except SystemExit as error:
        raise EscapedError(f"SystemExit: {error}") from error
