"""The servers of one kind: checked before they are used, left alone while they are down, and asked with a measure."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

from agentic_rl.rollout.engines.base import EngineClosedError
from agentic_rl.rollout.engines.http_checks import CHECK_SECONDS, check
from agentic_rl.rollout.engines.http_faults import (
    NoServerError,
    ServerFaultError,
    ServerGoneError,
    ServerRefusedError,
    ServerUnsuitableError,
)
from agentic_rl.rollout.engines.http_servers import Server, Servers

_LOGGER = logging.getLogger(__name__)
_COMPLETIONS = "/v1/completions"
_SILENCES = 3
"""Unanswered checks in a row after which a server that seems to work counts as hung."""


class ServerPool:
    """Servers that any request may go to.

    Args:
        servers: which ones.
        model: the name under which they serve the model; None: the only one that they have.
        try_timeout: seconds that a request may take.
        patience: seconds to wait for a server while all are down.
        check_every: seconds between two checks of a server.
    """

    def __init__(
        self, servers: list[Server], *, model: str | None, try_timeout: float, patience: float, check_every: float
    ) -> None:
        self.model = model
        self.max_model_len = 0
        """The least of the servers that are known; 0: none is."""
        self._servers = Servers(servers)
        self._try_timeout = try_timeout
        self._patience = patience
        self._check_every = check_every
        self._checks: dict[Server, asyncio.Task[None]] = {}
        self._patrol: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def servers(self) -> Sequence[Server]:
        """The servers and how they fare."""
        return self._servers.all

    async def start(self) -> None:
        """Check all servers; return when one is well. Those that don't answer join when they do.

        Raises:
            ServerUnsuitableError, ServerRefusedError: one can't be used.
            NoServerError: none answers.
        """
        results = await asyncio.gather(*(self._check(server) for server in self.servers), return_exceptions=True)
        for server, result in zip(self.servers, results, strict=True):
            if isinstance(result, ServerFaultError):
                server.last_fault = str(result)
            elif result is not None:
                raise result
        down = [server for server in self.servers if not server.up]
        if len(down) == len(self.servers):
            faults = "; ".join(server.last_fault for server in down)
            raise NoServerError(f"no server answers; start one, or correct the addresses: {faults}")
        for server in down:
            self._watch(server)
        self._patrol = asyncio.ensure_future(self._look_after())

    async def choose(self, session: str | None) -> Server:
        """Return the server for a session's next request; see `Servers.choose`."""
        if self._closed:
            raise EngineClosedError("the engine is closed")
        return await self._servers.choose(session, self._patience)

    async def post(
        self,
        server: Server,
        body: bytes,
        *,
        limit: int,
        request_id: str = "",
        on_body: Callable[[bytes], None] | None = None,
    ) -> bytes:
        """Ask a server for a completion; return its answer, which `answered` or `failed` then judges.

        `on_body`: see `Wire.post`.

        Raises:
            ServerFaultError: it failed; this is counted.
            ServerRefusedError: the server says that the request is wrong.
        """
        if self._closed:
            raise EngineClosedError("the engine is closed")
        server.in_flight += 1
        try:
            return await server.wire.post(
                _COMPLETIONS, body, limit=limit, seconds=self._try_timeout, request_id=request_id, on_body=on_body
            )
        except ServerFaultError as fault:
            if self._closed:
                raise EngineClosedError("the engine is closed") from fault
            self.failed(server, fault)
            raise
        finally:
            server.in_flight -= 1

    def answered(self, server: Server) -> None:
        """Note an answer that makes sense."""
        self._servers.worked(server)

    def failed(self, server: Server, fault: ServerFaultError) -> None:
        """Note a fault; after several in a row, the server gets no requests until a check finds it well."""
        if self._servers.failed(server, fault, gone=isinstance(fault, ServerGoneError)):
            self._watch(server)

    def release(self, session: str) -> None:
        """Forget which server a session belongs to."""
        self._servers.release(session)

    async def close(self) -> None:
        """Stop checking, and close all connections; requests on their way fail."""
        self._closed = True
        checks = [*self._checks.values(), *([self._patrol] if self._patrol else [])]
        for task in checks:
            task.cancel()
        await asyncio.gather(*checks, return_exceptions=True)
        for server in self.servers:
            server.wire.close()

    async def _check(self, server: Server) -> None:
        abilities = await check(server, self.model, self._try_timeout)
        self.model = abilities.model
        self.max_model_len = min(abilities.max_model_len, self.max_model_len or abilities.max_model_len)
        server.processed_logprobs = abilities.processed_logprobs
        self._servers.back(server)

    async def _look_after(self) -> None:
        """Find servers that hang: their requests would only notice after `try_timeout`, which a long turn may need."""
        while True:
            await asyncio.sleep(self._check_every)
            await asyncio.gather(*(self._look_at(server) for server in self.servers if server.up))

    async def _look_at(self, server: Server) -> None:
        try:
            await server.wire.get("/health", limit=1 << 16, seconds=CHECK_SECONDS)
        except ServerRefusedError:
            server.silences = 0  # whatever it says, it speaks
        except ServerFaultError as fault:
            server.silences += 1
            if server.silences >= _SILENCES and server.up:
                self._servers.hung(server, fault)
                server.wire.close()
                self._watch(server)
        else:
            server.silences = 0

    def _watch(self, server: Server) -> None:
        _LOGGER.warning("a server is down: %s", server.last_fault)
        if server not in self._checks:
            self._checks[server] = asyncio.ensure_future(self._until_well(server))

    async def _until_well(self, server: Server) -> None:
        while not await self._is_well(server):
            await asyncio.sleep(self._check_every)
        del self._checks[server]
        _LOGGER.info("%s is up", server.url)

    async def _is_well(self, server: Server) -> bool:
        try:
            await self._check(server)
        except (ServerFaultError, ServerRefusedError, ServerUnsuitableError) as error:
            server.last_fault = str(error)
        return server.up
