"""A small MCP server for tests: `python mcp_server.py`, or with a port for HTTP, or `broken` or `silent`."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("small")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("no luck")


@server.tool()
def long() -> str:
    """Return a megabyte."""
    return "x" * 1_000_000


@server.tool()
def pid() -> int:
    """Return the process id of the server."""
    return os.getpid()


@server.tool()
async def sleep(seconds: float) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "awake"


@server.tool()
def die() -> str:
    """End the server without a word."""
    os._exit(3)


if __name__ == "__main__":
    if "PID_FILE" in os.environ:
        Path(os.environ["PID_FILE"]).write_text(str(os.getpid()))
    way = sys.argv[1] if len(sys.argv) > 1 else "stdio"
    if way == "broken":
        sys.exit("no database")
    if way == "silent":
        time.sleep(60)
    if way == "noisy":
        print("debug " * 1_000_000, file=sys.stderr)
    if way.isdigit():
        server.run("streamable-http", port=int(way))
    else:
        server.run("stdio")
