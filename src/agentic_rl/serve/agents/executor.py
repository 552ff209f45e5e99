"""An executor of an agent instance: it runs agents beside the event loop that answers requests."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, Protocol, TypeVar

from agentic_rl.serve.agents.call import AgentCall
from agentic_rl.serve.agents.room import AgentRoom
from agentic_rl.serve.settings import AgentInstance

Result = TypeVar("Result")
_CLOSE_SECONDS = 15.0


class Executor(Protocol):
    """Runs an agent for whoever asks."""

    def invoke(self, call: AgentCall) -> AsyncGenerator[bytes, None]:
        """Give the events of a run as they come. Closing the generator ends the run.

        Raises:
            ApiError: the run can't begin.
        """
        ...

    async def close(self) -> None:
        """End what runs, and free what is held."""
        ...


class ThreadExecutor:
    """An executor in a thread of its own: an agent that blocks its event loop delays no answer of others.

    Raises:
        ConfigError: the agent can't be made.
    """

    def __init__(self, instance: AgentInstance, number: int = 0) -> None:
        self._room = AgentRoom(instance, number)
        self._running = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"agents {instance.name}", daemon=True)
        self._thread.start()

    async def invoke(self, call: AgentCall) -> AsyncGenerator[bytes, None]:
        """Give the events of a run; see `Executor.invoke`."""
        here = asyncio.get_running_loop()
        events: asyncio.Queue[bytes | None] = asyncio.Queue()

        def emit(event: bytes | None) -> None:
            with contextlib.suppress(RuntimeError):  # the service has ended meanwhile
                here.call_soon_threadsafe(events.put_nowait, event)

        run = self._start(self._room.invoke(call, emit))
        self._running += 1
        run.add_done_callback(lambda _: emit(None))
        try:
            while (event := await events.get()) is not None:
                yield event
            await asyncio.wrap_future(run)
        finally:
            self._running -= 1
            run.cancel()

    def running(self) -> int:
        """How many runs go on."""
        return self._running

    async def close(self) -> None:
        """End what runs, and free what is held."""
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.wrap_future(self._start(self._finish())), _CLOSE_SECONDS)
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join, _CLOSE_SECONDS)
        if not self._thread.is_alive():
            self._loop.close()

    async def _finish(self) -> None:
        own = asyncio.current_task()
        left = [task for task in asyncio.all_tasks() if task is not own]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left, timeout=_CLOSE_SECONDS / 2)
        await self._room.close()
        await asyncio.get_running_loop().shutdown_asyncgens()

    def _start(self, work: Coroutine[Any, Any, Result]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop)
