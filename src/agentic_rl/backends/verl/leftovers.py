"""What a Ray of our own leaves behind: processes that outlive it, and segments of shared memory."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from types import TracebackType
from typing import Any

PATIENCE = 10.0
"""Seconds that processes get to end by themselves."""
SEGMENT = re.compile(r"/dev/shm/((?:psm_|verl_weights_)\w+)")  # noqa: S108 - where the system keeps them
"""vLLM's message queues and verl's weight buffers; verl kills their owners, who then can't remove them."""


class Leftovers:
    """Knows what was started between `__enter__` and `note`, and removes what is left of it."""

    def __init__(self) -> None:
        self._before: set[int] = set()
        self._processes: set[Any] = set()
        self._segments: set[str] = set()

    def __enter__(self) -> Leftovers:
        self._before = {child.pid for child in _children()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._processes.clear()

    def note(self) -> None:
        """Remember the processes that were started since, with all below them, and the memory that they share.

        Worth doing more than once: verl ends its engines before the job has ended, and their memory stays.
        """
        import psutil

        for child in _children():
            if child.pid not in self._before:
                with contextlib.suppress(psutil.Error):
                    self._processes |= {child, *child.children(recursive=True)}
        for process in self._processes:
            self._segments |= _segments(process.pid)

    def remove(self) -> None:
        """End the processes that are still there, and remove the segments."""
        import psutil

        _, alive = psutil.wait_procs(list(self._processes), timeout=PATIENCE)
        for process in alive:  # psutil compares the start times: a number that was given anew is left alone
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(alive, timeout=PATIENCE)
        for name in self._segments:
            Path("/dev/shm", name).unlink(missing_ok=True)  # noqa: S108 - see above


def _children() -> list[Any]:
    import psutil

    return list(psutil.Process().children())


def _segments(pid: int) -> set[str]:
    try:
        text = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:  # ended meanwhile, or not Linux
        return set()
    return set(SEGMENT.findall(text))
