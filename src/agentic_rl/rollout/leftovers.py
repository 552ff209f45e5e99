"""Tasks that an agent has started and left running."""

from __future__ import annotations

import asyncio
import logging

_LOGGER = logging.getLogger(__name__)


class Leftovers:
    """Remembers the tasks of the running event loop when it is made, to tell later which ones are new."""

    def __init__(self) -> None:
        self._before = asyncio.all_tasks()

    def tell(self, file: str | None) -> None:
        """Warn of new tasks that still run code of the agent's `file`.

        They are not cancelled: nothing says whether a task belongs to a rollout or serves them all, and without an
        open rollout it can't reach the policy.
        """
        if file is None:
            return
        names = sorted(_name(task) for task in asyncio.all_tasks() - self._before if _runs(task, file))
        if names:
            _LOGGER.warning(
                "%s has left %d tasks running after its rollouts (%s); await or cancel what run() starts",
                file,
                len(names),
                ", ".join(names[:3]),
            )


def cancel_all(loop: asyncio.AbstractEventLoop, seconds: float = 1.0) -> None:
    """Cancel what still runs on a loop that is about to be closed, and wait a moment for it to end."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        _, left = loop.run_until_complete(asyncio.wait(left, timeout=seconds))
    if left:
        names = ", ".join(sorted({_name(task) for task in left})[:3])
        _LOGGER.warning("%d tasks swallow their cancellation and end with the program (%s)", len(left), names)


def _runs(task: asyncio.Task[object], file: str) -> bool:
    code = getattr(task.get_coro(), "cr_code", None)
    return code is not None and code.co_filename == file


def _name(task: asyncio.Task[object]) -> str:
    return str(getattr(task.get_coro(), "__qualname__", task.get_name()))
