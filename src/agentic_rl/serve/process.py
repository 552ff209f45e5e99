"""A child process of the service, with a log of its own and a process group that ends with it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from agentic_rl.cluster.children import as_shell, started

_LOOK_SECONDS = 0.2
ASK_SECONDS = 60.0
"""What a process gets to end after it was asked once; what trains ends its step and writes a checkpoint."""
INSIST_SECONDS = 30.0
"""What it gets after it was asked again, until its group is killed."""


class Process:
    """Started when it is made.

    Args:
        arguments: what is run.
        log: a file that its output is appended to.
        environment: on top of our own.

    Raises:
        OSError: it can't be run, or the log can't be written.
    """

    def __init__(self, arguments: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        self._process = started(arguments, log, environment or {})

    @property
    def pid(self) -> int:
        """The number of the process, and of its group."""
        return self._process.pid

    @property
    def status(self) -> int | None:
        """How it ended, as a shell says it: 128 and the number of the signal where one ended it. None: it runs."""
        status = self._process.poll()
        return None if status is None else as_shell(status)

    async def wait(self) -> int:
        """Wait for its end; the status."""
        while (status := self.status) is None:
            await asyncio.sleep(_LOOK_SECONDS)
        return status

    async def end(self, ask: float = ASK_SECONDS, insist: float = INSIST_SECONDS) -> int:
        """Ask it to end, ask again, kill its group; the status."""
        for seconds in (ask, insist):
            if self.status is not None:
                break
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGTERM)
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self.wait(), seconds)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # what the process has left of its group as well
        return await self.wait()
