"""Hands a request on to a model server, and its answer back as the bytes come."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping

import aiohttp
from starlette.responses import Response

from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.serve.answers import EVENT_STREAM, refusal
from agentic_rl.serve.boundary import Receive, Scope, Send
from agentic_rl.serve.connection import while_connected
from agentic_rl.serve.upstreams import Upstream

_LOGGER = logging.getLogger(__name__)
_MOST_BYTES = 1 << 28
"""Of an answer that does not come as events."""


class Relay(Response):
    """The answer of a model server. When the client goes away, so does the request to the server.

    Args:
        upstream: the servers.
        path: on a server.
        content: the body to send.
        headers: what to send beside it.
    """

    def __init__(self, upstream: Upstream, path: str, content: bytes, headers: Mapping[str, str]) -> None:
        super().__init__()
        self._upstream = upstream
        self._path = path
        self._content = content
        self._given = {"Content-Type": "application/json", **headers}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        await while_connected(self._pump(scope, receive, send), receive)

    async def _pump(self, scope: Scope, receive: Receive, send: Send) -> None:
        streaming = False
        try:
            async with self._upstream.post(self._path, self._content, self._given) as answer:
                streaming = answer.content_type == EVENT_STREAM
                await (_stream(answer, send, self._upstream) if streaming else self._whole(answer, send))
        except ApiError as error:
            _LOGGER.warning("%s of %s: %s", self._path, self._upstream.infer.name, error.message)
            if not streaming:
                await refusal(error)(scope, receive, send)
                return
            # The status has gone; clients of OpenAI look for an error among the events.
            last = b"data: " + json.dumps(error.body()).encode() + b"\n\n"
            await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _whole(self, answer: aiohttp.ClientResponse, send: Send) -> None:
        body = await answer.content.read(_MOST_BYTES + 1)
        parts = [body]
        while body and sum(map(len, parts)) <= _MOST_BYTES:
            parts.append(body := await answer.content.read(_MOST_BYTES))
        whole = b"".join(parts)
        if len(whole) > _MOST_BYTES:
            raise ApiError(502, f"the server's answer is larger than {_MOST_BYTES} bytes", code="server_failed")
        self._upstream.metrics.forwarded.labels(self._upstream.infer.name).inc(len(whole))
        await send(_head(answer, length=len(whole)))
        await send({"type": "http.response.body", "body": whole, "more_body": False})


async def _stream(answer: aiohttp.ClientResponse, send: Send, upstream: Upstream) -> None:
    forwarded = upstream.metrics.forwarded.labels(upstream.infer.name)
    await send(_head(answer))
    async for part in answer.content.iter_any():
        forwarded.inc(len(part))
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _head(answer: aiohttp.ClientResponse, length: int | None = None) -> dict[str, object]:
    headers = [(b"content-type", answer.headers.get("Content-Type", "application/json").encode("latin-1"))]
    headers += [
        (name.lower().encode(), answer.headers[name].encode("latin-1", "replace"))
        for name in ("X-Request-Id", "Retry-After")
        if name in answer.headers
    ]
    headers.append((b"cache-control", b"no-store"))
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    return {"type": "http.response.start", "status": answer.status, "headers": headers}
