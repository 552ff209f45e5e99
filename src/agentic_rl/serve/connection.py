"""Work for a client that may go away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any

from starlette.responses import Response

from agentic_rl.serve.answers import EVENT_STREAM
from agentic_rl.serve.boundary import Receive, Scope, Send


async def while_connected(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Await `work`, and cancel it when the client goes away."""
    working = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(_until_gone(receive))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for one in (working, gone):
            one.cancel()
        await asyncio.wait((working, gone))
    if not working.cancelled():
        working.result()


class EventStream(Response):
    """Server-sent events as they come. They are closed when the client goes away."""

    media_type = EVENT_STREAM

    def __init__(self, events: AsyncGenerator[bytes, None], status_code: int = 200) -> None:
        super().__init__(status_code=status_code, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        del self.headers["content-length"]
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        await while_connected(self._pump(send), receive)

    async def _pump(self, send: Send) -> None:
        async with aclosing(self._events) as events:
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            async for part in events:
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
