"""The connection to one MCP server: in a thread of its own, started when it is needed and again when it broke."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any

from agentic_rl.agents.errors import McpError
from agentic_rl.agents.mcp_transport import Connect, Said

_CLOSING = 10.0
"""Seconds that a server has to end."""
_AFTER_FAILURE = 5.0
"""Seconds in which a failed start is told again and not tried again: a thousand rollouts may ask at once."""

_CONNECTION_CLOSED = -32_000
"""The code of the client's own error when the server is gone."""


class Session:
    """One server. Its connection lives on an event loop of its own, whatever loops the rollouts come from."""

    def __init__(self, name: str, connect: Connect, start_timeout: float) -> None:
        self.name = name
        self._connect = connect
        self._start_timeout = start_timeout
        self._said = Said()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._starting = threading.Lock()
        self._lock = asyncio.Lock()
        self._client: Any = None
        self._stop = asyncio.Event()
        self._serving: asyncio.Task[None] | None = None
        self._failed_at = float("-inf")
        self._failure = ""

    async def listed(self) -> list[Any]:
        """Return the descriptions of the server's tools.

        Raises:
            McpError: it can't be started, or its answer makes no sense.
        """
        return list(await self._on_loop(self._listed_in_time()))

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        """Return a tool's result.

        Raises:
            McpError: the server is gone, or refuses the call.
        """
        return await self._on_loop(self._request(lambda client: client.call_tool(name, arguments)))

    def close(self) -> None:
        """End the connection, and the server if it was started here."""
        with self._starting:
            loop, self._loop = self._loop, None
        if loop is None:
            return
        with contextlib.suppress(Exception):  # it is as much at an end as it can be
            asyncio.run_coroutine_threadsafe(self._end(), loop).result(_CLOSING)
        loop.call_soon_threadsafe(loop.stop)

    async def _on_loop(self, work: Coroutine[Any, Any, Any]) -> Any:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._running_loop()))

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._lock = asyncio.Lock()  # of this loop
                threading.Thread(target=_run, args=(self._loop,), name=f"mcp {self.name}", daemon=True).start()
        return self._loop

    async def _listed_in_time(self) -> list[Any]:
        await self._connected()
        try:
            return await asyncio.wait_for(self._list(), self._start_timeout)
        except asyncio.TimeoutError:
            late = f"did not list its tools in {self._start_timeout:g} s"
            raise McpError(f"the MCP server {self.name} {late}{self._said}") from None

    async def _list(self) -> list[Any]:
        found: list[Any] = []
        cursor = None
        while True:
            page = await self._request(_listing(cursor))
            found += page.tools
            cursor = page.next_cursor
            if not cursor:
                return found

    async def _request(self, ask: Callable[[Any], Any]) -> Any:
        """Await an answer of the server; it never comes if the connection breaks, so that is watched as well."""
        client, serving = await self._connected()
        answer = asyncio.ensure_future(ask(client))
        try:
            await asyncio.wait((answer, serving), return_when=asyncio.FIRST_COMPLETED)
            if answer.done() and not answer.cancelled():
                return answer.result()
        except Exception as error:
            closed = getattr(getattr(error, "error", None), "code", None) == _CONNECTION_CLOSED
            if closed and self._serving is serving:
                self._stop.set()  # so that the next request starts anew
            raise McpError(f"the MCP server {self.name} failed: {_innermost(error)}{self._said}") from error
        finally:
            answer.cancel()
        raise McpError(f"the MCP server {self.name} is gone{self._said}")

    async def _connected(self) -> tuple[Any, asyncio.Task[None]]:
        """Return the client, which is made when needed, and the task that holds it open.

        A caller that is cancelled leaves the making to others.
        """
        making = asyncio.ensure_future(self._made())
        making.add_done_callback(lambda made: made.cancelled() or made.exception())  # told to all who still wait
        return await asyncio.shield(making)

    async def _made(self) -> tuple[Any, asyncio.Task[None]]:
        async with self._lock:
            if self._serving is not None and (self._serving.done() or self._stop.is_set()):
                await self._end()
            if self._serving is None:
                if time.monotonic() - self._failed_at < _AFTER_FAILURE:
                    raise McpError(self._failure)
                self._client, self._serving = await self._started()
            return self._client, self._serving

    async def _started(self) -> tuple[Any, asyncio.Task[None]]:
        ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        serving = asyncio.ensure_future(self._serve(ready, self._stop))
        try:
            return await asyncio.wait_for(ready, self._start_timeout), serving
        except Exception as error:
            serving.cancel()
            await asyncio.wait((serving,), timeout=_CLOSING)
            late = isinstance(error, asyncio.TimeoutError)
            why = f"it did not answer in {self._start_timeout:g} s" if late else _innermost(error)
            self._failed_at = time.monotonic()
            self._failure = f"the MCP server {self.name} can't be started: {why}{self._said}"
            raise McpError(self._failure) from error

    async def _serve(self, ready: asyncio.Future[Any], stop: asyncio.Event) -> None:
        """Hold the client open: it has to be entered and left in one task."""
        try:
            async with self._connect(self._said) as client:
                ready.set_result(client)
                await stop.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error if isinstance(error, Exception) else McpError(repr(error)))
            elif not isinstance(error, Exception):
                raise

    async def _end(self) -> None:
        serving, self._serving = self._serving, None
        if serving is None:
            return
        self._stop.set()
        await asyncio.wait((serving,), timeout=_CLOSING / 2)
        serving.cancel()
        await asyncio.wait((serving,), timeout=_CLOSING / 2)


def _listing(cursor: str | None) -> Callable[[Any], Any]:
    return lambda client: client.list_tools(cursor=cursor)


def _run(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _innermost(error: BaseException) -> str:
    """The first error that says something, inside the groups that task groups make."""
    while getattr(error, "exceptions", None):
        error = error.exceptions[0]  # type: ignore[attr-defined]  # an exception group
    return str(error) or type(error).__name__
