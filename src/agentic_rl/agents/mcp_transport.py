"""How MCP servers are reached: as a process of our own, or at an address."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TextIO

from agentic_rl.agents.errors import McpError

_SAID = 2_000
"""Characters of a server's standard error that a message may quote."""

Connect = Callable[["Said"], AbstractAsyncContextManager[Any]]
"""Opens a client of the package `mcp`; what the server's process says on standard error goes to the argument."""


class Said:
    """The end of what a server's process writes to standard error, however much that is."""

    def __init__(self) -> None:
        self._kept: deque[str] = deque(maxlen=20)

    @contextlib.contextmanager
    def listening(self) -> Iterator[TextIO]:
        """Give the file that a process may write to."""
        reading, writing = os.pipe()
        thread = threading.Thread(target=self._listen, args=(reading,), name="mcp stderr", daemon=True)
        thread.start()
        with os.fdopen(writing, "w") as file:
            yield file

    def _listen(self, reading: int) -> None:
        with os.fdopen(reading, "rb", buffering=0) as file:
            while data := file.read(1 << 16):
                self._kept.append(data[-_SAID:].decode("utf-8", "replace"))

    def __str__(self) -> str:
        text = "".join(self._kept).strip()[-_SAID:]
        return f"; it said: {text}" if text else ""


def stdio(command: str, arguments: Sequence[str], env: Mapping[str, str] | None, cwd: str | Path | None) -> Connect:
    """Return how to start a server and to speak to it over its standard input and output."""

    @asynccontextmanager
    async def connect(said: Said) -> AsyncIterator[Any]:
        mcp = _package()
        from mcp.client.stdio import stdio_client

        with said.listening() as errors:
            process = mcp.StdioServerParameters(
                command=command, args=list(arguments), env=dict(env) if env else None, cwd=cwd
            )
            async with mcp.Client(stdio_client(process, errlog=errors)) as client:
                yield client

    return connect


def http(url: str, headers: Mapping[str, str] | None) -> Connect:
    """Return how to speak to a server with the streamable HTTP transport."""

    @asynccontextmanager
    async def connect(said: Said) -> AsyncIterator[Any]:
        mcp = _package()
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        timeout = httpx2.Timeout(30, read=None)  # whoever calls a tool says how long an answer may take
        async with (
            httpx2.AsyncClient(headers=dict(headers or {}), timeout=timeout) as web,
            mcp.Client(streamable_http_client(url, http_client=web)) as client,
        ):
            yield client

    return connect


def _package() -> Any:
    try:
        import mcp
    except ImportError:
        raise McpError("tools of MCP servers need the package mcp: pip install 'agentic-rl[mcp]'") from None
    if not hasattr(mcp, "Client"):
        raise McpError("tools of MCP servers need mcp 2 or newer: pip install 'agentic-rl[mcp]'")
    return mcp
