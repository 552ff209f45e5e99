"""What every request goes through: who asks, how much, how long, and what is measured of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import LateError
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.serve.access import Access
from agentic_rl.serve.answers import refusal
from agentic_rl.serve.metrics import Metrics

Message = MutableMapping[str, Any]
Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

OPEN = frozenset({"/health", "/docs", "/openapi.json"})
"""Paths that tell nothing of anybody, and need no token."""
_OTHER = "other"
"""The route of a path that there is none for: names of routes are few, whatever is asked."""


@dataclass(frozen=True)
class Limits:
    """What requests may take."""

    body_bytes: int = 16 << 20
    body_seconds: float = 30.0
    """Until the body of a request is there."""
    requests: int = 2048
    """At once."""


class Boundary:
    """The application behind its limits, as an application of ASGI."""

    def __init__(self, app: App, access: Access, metrics: Metrics, limits: Limits) -> None:
        self._app = app
        self._access = access
        self._metrics = metrics
        self._limits = limits
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        watched = _Watched(send)
        began = time.monotonic()
        self._running += 1
        try:
            await self._answer(scope, receive, watched)
        finally:
            self._running -= 1
            self._note(scope, watched.status, time.monotonic() - began)

    async def _answer(self, scope: Scope, receive: Receive, send: _Watched) -> None:
        try:
            self._admit(scope)
            body = await self._body(scope, receive)
        except ApiError as error:
            await refusal(error)(scope, receive, send)
            return
        if body is None:
            return
        await self._app(scope, _Replayed(body, receive), send)

    def _admit(self, scope: Scope) -> None:
        headers = dict(scope["headers"])
        if scope["path"] not in OPEN and (refused := self._access.refusal(headers)):
            raise refused
        if self._running > self._limits.requests and scope["path"] != "/health":
            raise ApiError(429, f"{self._limits.requests} requests are being answered; try again", code="busy")
        try:
            length = int(headers.get(b"content-length", b"0"))
        except ValueError:
            raise ApiError(400, "Content-Length is no number", code="invalid_body") from None
        if length > self._limits.body_bytes:
            raise self._too_large()

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The whole body; None: the client has gone."""
        if scope["method"] in ("GET", "HEAD", "OPTIONS"):
            return b""
        parts: list[bytes] = []
        size, more = 0, True
        try:
            with Deadline(self._limits.body_seconds, "the body of the request"):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    parts.append(message.get("body", b""))
                    size += len(parts[-1])
                    more = message.get("more_body", False)
                    if size > self._limits.body_bytes:
                        raise self._too_large()
        except LateError as late:
            raise ApiError(408, str(late), code="body_late") from None
        return b"".join(parts)

    def _too_large(self) -> ApiError:
        return ApiError(413, f"the body is larger than {self._limits.body_bytes} bytes", code="body_too_large")

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", _OTHER)
        self._metrics.requests.labels(route, str(status or 499)).inc()
        self._metrics.seconds.labels(route).observe(seconds)


class _Watched:
    """`send`, which remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    def __call__(self, message: Message) -> Awaitable[None]:
        if not self.status:
            self.status = message.get("status", 0)
        return self._send(message)


class _Replayed:
    """`receive` of a request whose body has been read."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        while (message := await self._receive())["type"] == "http.request":
            await asyncio.sleep(0)  # what follows the body of a GET
        return message
