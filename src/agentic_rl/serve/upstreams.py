"""The model servers behind the names of inference instances."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import aiohttp

from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.serve.metrics import Metrics
from agentic_rl.serve.settings import Infer

_CONNECT_SECONDS = 10.0
_SILENT_SECONDS = 600.0
"""How long a server may send nothing: a long prompt in a full queue takes minutes."""
_IDLE_SECONDS = 4.0
"""Servers of vLLM close a connection after 5 s without a request; one that is used again must not be older."""
_DOWN_SECONDS = 5.0
"""How long a server that nothing listens at gets no requests, if there are others."""
_HEALTH_SECONDS = 2.0
_CHUNK = 1 << 16
_NOT_BEGUN = (aiohttp.ClientConnectorError, aiohttp.ServerDisconnectedError)
"""Errors after which another server can be asked, where nothing was answered yet."""


@dataclass(eq=False)
class _Server:
    url: str
    in_flight: int = 0
    down_until: float = 0.0


@dataclass(eq=False)
class Upstream:
    """The servers of one inference instance."""

    infer: Infer
    session: aiohttp.ClientSession
    metrics: Metrics
    _servers: list[_Server] = field(init=False)

    def __post_init__(self) -> None:
        """Take the servers of the instance."""
        self._servers = [_Server(url) for url in self.infer.servers]

    @asynccontextmanager
    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a body to the server with the least to do; the block gets the beginning of its answer.

        Where nothing listens at a server, the next one is asked.

        Raises:
            ApiError: 502 where none could be asked or one broke off, 504 where one was silent for too long.
        """
        fault: Exception | None = None
        for server in self._in_order():
            server.in_flight += 1
            begun = False
            try:
                async with self.session.post(server.url + path, data=body, headers=headers) as answer:
                    server.down_until, begun = 0.0, True
                    yield answer
                return
            except asyncio.TimeoutError as error:
                raise self._failed(504, f"{server.url} was silent for {_SILENT_SECONDS:g} s", "late") from error
            except aiohttp.ClientError as error:
                if begun or not isinstance(error, _NOT_BEGUN):
                    problem = f"{server.url}: {type(error).__name__}: {error}"
                    raise self._failed(502, problem, "server_failed") from error
                fault = error
                server.down_until = time.monotonic() + _DOWN_SECONDS
            finally:
                server.in_flight -= 1
        raise self._failed(502, f"no server of {self.infer.name!r} answers: {fault}", "no_server") from fault

    async def well(self) -> dict[str, bool]:
        """Which servers answer now."""
        answers = await asyncio.gather(*(self._is_well(server) for server in self._servers))
        return dict(zip(self.infer.servers, answers, strict=True))

    async def _is_well(self, server: _Server) -> bool:
        timeout = aiohttp.ClientTimeout(total=_HEALTH_SECONDS)
        try:
            async with self.session.get(f"{server.url}/v1/models", timeout=timeout) as answer:
                return answer.status == 200
        except (aiohttp.ClientError, asyncio.TimeoutError, OSError):
            return False

    def _in_order(self) -> list[_Server]:
        now = time.monotonic()
        return sorted(self._servers, key=lambda server: (server.down_until > now, server.in_flight))

    def _failed(self, status: int, message: str, code: str) -> ApiError:
        self.metrics.faults.labels(self.infer.name).inc()
        return ApiError(status, message, code=code)


def new_session() -> aiohttp.ClientSession:
    """The connections to all model servers; it belongs to the running event loop."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS),
        auto_decompress=False,
        skip_auto_headers=("Accept-Encoding", "User-Agent"),
        read_bufsize=_CHUNK,
        cookie_jar=aiohttp.DummyCookieJar(),
    )
