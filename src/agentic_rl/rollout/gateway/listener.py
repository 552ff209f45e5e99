"""The HTTP side: sockets, connections and their limits. It is the only file that knows the server library."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import weakref
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from aiohttp import web
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import LateError
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.rollout.gateway.streaming import AnswerEvents

MOST_BYTES = 32 * 2**20
"""Of a body."""
ARRIVAL_SECONDS = 30.0
"""In which the head of a connection's first request has to be there, and later the body of each."""
IDLE_SECONDS = 60.0
"""After which a connection without a request is closed."""
_LINGER_SECONDS = 2.0
"""In which the rest of a refused body is thrown away, so that its sender reads the answer."""
_HOST = "127.0.0.1"
_QUIET = logging.getLogger(f"{__name__}.http")
_QUIET.setLevel(logging.CRITICAL)  # of requests that are none, the server library would print tracebacks
_BACKLOG = 4096


class Call(NamedTuple):
    """A request, its body not read yet."""

    method: str
    path: str
    authorization: str
    from_browser: bool
    """Whether a page in a browser sent it."""
    read: Callable[[], Awaitable[bytes]]


class Answer(NamedTuple):
    """What is sent back."""

    status: int
    kind: str
    """The media type."""
    payload: bytes
    again: bool = True
    """Whether clients may repeat the call by themselves."""
    events: AnswerEvents | None = None
    """In place of the payload: what is sent while it is made."""


class Listener:
    """Serves on a free port of the loopback interface, on an event loop.

    It may be made in any thread; connections that come before the loop runs wait.
    """

    def __init__(self, handle: Callable[[Call], Awaitable[Answer]], loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._handle = handle
        self._socket = socket.create_server((_HOST, 0), backlog=_BACKLOG)
        self.address = f"{_HOST}:{self._socket.getsockname()[1]}"
        self._server: asyncio.Server | None = None
        self._silent: dict[RequestHandler, asyncio.TimerHandle] = {}
        self._free = weakref.finalize(self, self._socket.close)
        self._web = web.Server(
            self._respond,
            request_factory=self._request,
            handler_cancellation=True,
            loop=loop,
            access_log=None,
            logger=_QUIET,
            keepalive_timeout=IDLE_SECONDS,
            lingering_time=_LINGER_SECONDS,
        )
        self._starting: asyncio.Future[None] | None = None
        loop.call_soon_threadsafe(self._start)

    async def close(self) -> None:
        """Stop listening, and close all connections."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if self._server is not None:
            self._server.close()
        await self._web.shutdown(timeout=1.0)
        for timer in self._silent.values():
            timer.cancel()
        self._free()

    def abandon(self) -> None:
        """Free the port of a listener whose loop is closed."""
        self._free()

    def _start(self) -> None:
        self._starting = asyncio.ensure_future(self._serve())

    async def _serve(self) -> None:
        self._server = await self.loop.create_server(self._connection, sock=self._socket, backlog=_BACKLOG)

    def _connection(self) -> RequestHandler:
        connection = self._web()
        self._silent[connection] = self.loop.call_later(ARRIVAL_SECONDS, self._drop, connection)
        return connection

    def _drop(self, connection: RequestHandler) -> None:
        del self._silent[connection]
        if connection.transport is not None:
            connection.transport.abort()

    def _request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: Any,
        task: asyncio.Task[None],
    ) -> web.BaseRequest:
        if protocol in self._silent:
            self._silent.pop(protocol).cancel()
        return web.BaseRequest(message, payload, protocol, writer, task, self.loop, client_max_size=MOST_BYTES)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = request.headers
        call = Call(
            request.method,
            request.path,
            headers.get("Authorization", ""),
            "Origin" in headers,
            lambda: _body(request),
        )
        answer = await self._handle(call)
        if answer.events is not None:
            return await _streamed(request, answer, answer.events)
        response = web.Response(body=answer.payload, status=answer.status, content_type=answer.kind)
        if not answer.again:
            response.headers["x-should-retry"] = "false"
        if answer.status in (408, 413):  # the rest of the body would be taken for the next request
            response.force_close()
        return response


async def _streamed(request: web.BaseRequest, answer: Answer, events: AnswerEvents) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status)
    response.content_type = answer.kind
    try:
        await response.prepare(request)
        async for piece in events:
            await response.write(piece)
        await response.write_eof()
    finally:
        events.close()
    return response


async def _body(request: web.BaseRequest) -> bytes:
    """Read a body.

    Raises:
        ApiError: it is too large, or does not come.
    """
    too_large = ApiError(413, f"the body is larger than {MOST_BYTES} bytes", code="body_too_large")
    if (request.content_length or 0) > MOST_BYTES:
        raise too_large
    try:
        with Deadline(ARRIVAL_SECONDS, "the body of the request"):
            return bytes(await request.read())
    except web.HTTPRequestEntityTooLarge:
        raise too_large from None
    except LateError as error:
        raise ApiError(408, str(error), code="body_late") from None
    except (web.PayloadAccessError, OSError) as error:
        with contextlib.suppress(AttributeError):
            request.protocol.force_close()
        raise ApiError(400, f"the body is broken: {error}", code="invalid_body") from None
