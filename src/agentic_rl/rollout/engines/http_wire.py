"""The connections to one server; what they give back is the body of an answer, or an error that says what to do."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from urllib.parse import urlsplit

from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import LateError
from agentic_rl.rollout.engines.http_connection import Connection
from agentic_rl.rollout.engines.http_faults import ServerFaultError, ServerGoneError, refusal

_IDLE_SECONDS = 4.0
"""Servers of vLLM close a connection after 5 s without a request; one that is used again must not be older."""
_CONNECT_SECONDS = 10.0


class Wire:
    """Sends requests to a server over connections that are kept for the next ones.

    Args:
        url: scheme, host, port and the beginning of all paths.
        slots: shared by the wires of an engine: how many requests may be on their way.
        api_key: sent as bearer token; None: none.

    Raises:
        ValueError: the key has characters that a header can't hold.
    """

    def __init__(self, url: str, slots: asyncio.Semaphore, api_key: str | None = None) -> None:
        parts = urlsplit(url)
        self._url = url
        self._host = parts.hostname or ""
        self._tls = ssl.create_default_context() if parts.scheme == "https" else None
        self._port = parts.port or (443 if self._tls else 80)
        self._slots = slots
        self._idle: list[Connection] = []
        self._open: set[Connection] = set()
        headers = {"Host": parts.netloc, "Content-Type": "application/json"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        self._path = parts.path
        self._headers = "".join(map(_header, headers, headers.values()))

    async def post(
        self,
        path: str,
        body: bytes,
        *,
        limit: int,
        seconds: float,
        request_id: str = "",
        on_body: Callable[[bytes], None] | None = None,
    ) -> bytes:
        """Send a JSON body; return the body of the answer.

        Args:
            path: where on the server.
            body: what to send.
            limit: how many bytes the answer may have.
            seconds: how long it may take from being sent to the last byte of its answer.
            request_id: by which the server is to know it.
            on_body: gets the body as it comes, which is then not returned; what it raises ends the request.

        Raises:
            ServerFaultError: it failed, but may work another time.
            ServerRefusedError: the server answered that the request is wrong.
        """
        what = f"POST {self._path}{path}"
        async with self._slots:
            more = _header("X-Request-Id", request_id) if request_id else ""
            return await self._ask(what, body, limit=limit, seconds=seconds, more=more, on_body=on_body)

    async def get(self, path: str, *, limit: int, seconds: float) -> bytes:
        """Fetch an answer, without waiting for other requests; raises as `post` does."""
        return await self._ask(f"GET {self._path}{path}", b"", limit=limit, seconds=seconds)

    def close(self) -> None:
        """Close all connections; requests on their way fail."""
        for connection in list(self._open):
            connection.abort()
        self._open.clear()
        self._idle.clear()

    async def _ask(
        self,
        what: str,
        body: bytes,
        *,
        limit: int,
        seconds: float,
        more: str = "",
        on_body: Callable[[bytes], None] | None = None,
    ) -> bytes:
        head = f"{what} HTTP/1.1\r\n{self._headers}{more}Content-Length: {len(body)}\r\n\r\n"
        connection = self._from_idle() or await self._connected()
        try:
            answer = await connection.ask(head.encode("latin-1") + body, limit, seconds, on_body)
        except BaseException as error:
            self._open.discard(connection)
            if isinstance(error, ServerFaultError):
                raise ServerFaultError(f"{self._url}: {error}") from None
            raise
        self._put_back(connection, reusable=answer.reusable)
        if answer.status != 200:
            raise refusal(self._url, answer.status, answer.headers, answer.body)
        return answer.body

    def _from_idle(self) -> Connection | None:
        oldest = asyncio.get_running_loop().time() - _IDLE_SECONDS
        while self._idle:
            connection = self._idle.pop()
            if connection.usable and connection.idle_since >= oldest:
                return connection
            self._drop(connection)
        return None

    async def _connected(self) -> Connection:
        loop = asyncio.get_running_loop()
        try:
            with Deadline(_CONNECT_SECONDS, "connecting"):  # asyncio.wait_for of Python 3.11 may lose a cancellation
                _, connection = await loop.create_connection(Connection, self._host, self._port, ssl=self._tls)
        except LateError as late:
            raise ServerGoneError(f"{self._url}: {late}") from None
        except OSError as error:
            raise ServerGoneError(f"{self._url}: {type(error).__name__}: {error}") from None
        self._open.add(connection)
        return connection

    def _put_back(self, connection: Connection, *, reusable: bool) -> None:
        if not reusable or not connection.usable:
            self._drop(connection)
            return
        connection.idle_since = asyncio.get_running_loop().time()
        self._idle.append(connection)

    def _drop(self, connection: Connection) -> None:
        connection.abort()
        self._open.discard(connection)


def _header(name: str, value: str) -> str:
    if not value.isprintable() or not value.isascii():
        raise ValueError(f"{name}: a header holds printable ASCII characters only; correct the value")
    return f"{name}: {value}\r\n"
