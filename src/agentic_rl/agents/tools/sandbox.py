"""Runs Python code that the policy wrote, kept apart from everything else. docs/tools.md says from what, and how."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import weakref
from collections.abc import Sequence
from functools import partial

from agentic_rl.agents.errors import LateError
from agentic_rl.agents.threads import run_in_thread
from agentic_rl.agents.tools.inside.limits import Limits
from agentic_rl.agents.tools.sandbox_call import Outcome, perform
from agentic_rl.agents.tools.sandbox_server import SandboxError, Server, start

_LOGGER = logging.getLogger(__name__)

__all__ = ["Limits", "Outcome", "Sandbox", "SandboxError"]


class Sandbox:
    """Runs each piece of code in a process of its own; nothing is kept from one call to the next.

    Args:
        limits: what a call may use.
        weak: where the machine lacks what full strength needs, run code all the same, with what there is. The log
            says so.
        preload: modules that are imported once, before the first call; importing them in the code then costs
            nothing.
        parallel: how many calls run at one time; further ones wait, and their time begins when they start. None:
            twice the processors.

    Raises:
        SandboxError: something is missing, and `weak` is false. It is found here, not in the first call.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        weak: bool = False,
        preload: Sequence[str] = (),
        parallel: int | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._weak = weak
        self._preload = tuple(preload)
        self._server, self.missing = start(self.limits, self._preload, weak=weak)
        self._end = weakref.finalize(self, self._server.close)
        self._parallel = parallel or 2 * len(os.sched_getaffinity(0))
        self._places: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore]
        self._places = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        if self.missing:
            _LOGGER.warning("the python tool runs code in a weak sandbox; missing %s", "; ".join(self.missing))

    @property
    def strength(self) -> str:
        """How code is kept apart: by `namespaces`, by `landlock`, or only as far as it goes (`weak`)."""
        return self._server.strength

    async def run(self, code: str) -> Outcome:
        """Run a program; what it prints, and the value of an expression in its last line, is the output.

        Returns:
            The outcome, whatever the code did: no process of it is left.

        Raises:
            SandboxError: the sandbox's own process ended, and can't be started again.
        """
        source = code.encode("utf-8", "replace")
        if len(source) > self.limits.code:
            return Outcome("", f"the code has {len(source)} bytes, at most {self.limits.code} are allowed")
        async with self._place():
            server = self._server
            try:
                return await perform(server.send, source, self.limits)
            except LateError as error:
                await run_in_thread(partial(self._replace, server), "sandbox")
                return Outcome("", f"stopped: {error}")
            except OSError:  # somebody killed the server: a new one is all it takes
                await run_in_thread(partial(self._replace, server), "sandbox")
                return await perform(self._server.send, source, self.limits)

    def _place(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._places:
                self._places[loop] = asyncio.Semaphore(self._parallel)
            return self._places[loop]

    def _replace(self, broken: Server) -> None:
        with self._lock:
            if self._server is not broken:
                return  # another call has done it
            self._end()
            self._server, _ = start(self.limits, self._preload, weak=self._weak)
            self._end = weakref.finalize(self, self._server.close)

    def close(self) -> None:
        """End the sandbox and every call; the end of the program does it, too."""
        self._end()
