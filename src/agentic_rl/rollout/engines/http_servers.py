"""Which server answers a request: the one that knows the trajectory, or the one with the least to do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import LateError
from agentic_rl.rollout.engines.http_faults import NoServerError, ServerBusyError, ServerFaultError
from agentic_rl.rollout.engines.http_wire import Wire

_FAULTS_UNTIL_DOWN = 5
"""Faults in a row after which a server gets no requests until a check finds it well."""


@dataclass(eq=False)
class Server:
    """One server, as this process sees it."""

    url: str
    """Scheme, host and port, without a slash at the end."""
    wire: Wire
    up: bool = False
    in_flight: int = 0
    sessions: int = 0
    """Trajectories that it alone serves."""
    answered: int = 0
    faults: int = 0
    """All faults so far."""
    faults_in_a_row: int = 0
    silences: int = 0
    """Checks in a row without an answer."""
    last_fault: str = ""
    processed_logprobs: bool = False
    """Whether its log-probabilities are those after temperature, top_k, top_p and min_p."""


@dataclass(eq=False)
class Servers:
    """The servers of one kind, such as those that only decode."""

    all: list[Server]
    _of_session: dict[str, Server] = field(default_factory=dict)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    async def choose(self, session: str | None, patience: float) -> Server:
        """Return the server of a session, or, if there is none or it is down, the one with the least to do.

        Raises:
            NoServerError: for `patience` seconds, all of them were down.
        """
        server = self._of_session.get(session) if session is not None else None
        if server is not None and server.up:
            return server
        while not (up := [server for server in self.all if server.up]):
            await self._wait_for_one(patience)
        chosen = min(up, key=lambda server: (server.in_flight, server.sessions))
        if session is not None:
            self.release(session)
            self._of_session[session] = chosen
            chosen.sessions += 1
        return chosen

    def release(self, session: str) -> None:
        """Forget where a session was served."""
        server = self._of_session.pop(session, None)
        if server is not None:
            server.sessions -= 1

    def worked(self, server: Server) -> None:
        """Note an answer."""
        server.answered += 1
        server.faults_in_a_row = 0

    def failed(self, server: Server, fault: ServerFaultError, *, gone: bool) -> bool:
        """Note a fault; return whether the server counts as down since. `gone`: nothing listens there any more."""
        server.last_fault = str(fault)
        if isinstance(fault, ServerBusyError):
            return False
        server.faults += 1
        server.faults_in_a_row += 1
        if server.up and (gone or server.faults_in_a_row >= _FAULTS_UNTIL_DOWN):
            server.up = False
            return True
        return False

    def hung(self, server: Server, fault: ServerFaultError) -> None:
        """Note that a server answers no more, though it takes requests."""
        server.last_fault = str(fault)
        server.faults += 1
        server.up = False

    def back(self, server: Server) -> None:
        """Note that a check found the server well."""
        server.up = True
        server.faults_in_a_row = server.silences = 0
        self._changed.set()
        self._changed.clear()

    async def _wait_for_one(self, patience: float) -> None:
        try:
            with Deadline(patience, "waiting for a server"):
                await self._changed.wait()
        except LateError:
            states = "; ".join(server.last_fault or f"{server.url}: no answer yet" for server in self.all)
            raise NoServerError(f"no server was up for {patience:g} s ({states})") from None


def server_urls(addresses: Sequence[str]) -> list[str]:
    """Read addresses: `host:port` or a URL, with or without `/v1`.

    Raises:
        ValueError: one is no address of an HTTP server, or there twice.
    """
    urls = []
    for address in addresses:
        url = (address if "://" in address else f"http://{address}").rstrip("/").removesuffix("/v1").rstrip("/")
        parts = urlsplit(url)
        strange = parts.query or parts.fragment or "@" in parts.netloc
        if parts.scheme not in ("http", "https") or not parts.hostname or strange:
            raise ValueError(f"{address!r} is no address of a server; write host:port or http://host:port")
        if url in urls:
            raise ValueError(f"the server {address!r} is named twice; name each once")
        urls.append(url)
    return urls
