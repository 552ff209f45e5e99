"""Tools of MCP servers, through the official client."""

from __future__ import annotations

import atexit
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentic_rl.agents.calls import call
from agentic_rl.agents.errors import LateError, McpError
from agentic_rl.agents.mcp_session import Session
from agentic_rl.agents.mcp_transport import Connect, http, stdio
from agentic_rl.agents.tool import Tool, ToolResult, shortened
from agentic_rl.agents.tool_source import ToolSource


class McpServer(ToolSource):
    """An MCP server whose tools the policy may call. Make one with `McpServer.stdio` or `McpServer.http`.

    It is started, or connected to, when its tools are first asked for, and left alone by `close`. A server that died
    is an error text for the policy, and the next call starts it again. It needs the package `mcp`: the extra `[mcp]`.
    """

    def __init__(
        self,
        name: str,
        connect: Connect,
        *,
        only: Sequence[str] | None = None,
        prefix: str = "",
        timeout: float | None = None,
        start_timeout: float = 30.0,
    ) -> None:
        self.name = name
        """What messages call the server: its command or address."""
        self._only = only
        self._prefix = prefix
        self._timeout = timeout
        self._session = Session(name, connect, start_timeout)
        self._tools: tuple[McpTool, ...] | None = None

    @classmethod
    def stdio(
        cls,
        command: str,
        *arguments: str,
        env: Mapping[str, str] | None = None,
        cwd: str | Path | None = None,
        **settings: Any,
    ) -> McpServer:
        """Return a server that is started as a process and spoken to over its standard input and output.

        Args:
            command: the program.
            *arguments: its arguments.
            env: variables on top of the few that it inherits, such as PATH and HOME.
            cwd: its working directory.
            **settings: as of `http`, `headers` aside.
        """
        return cls(command, stdio(command, arguments, env, cwd), **settings)

    @classmethod
    def http(cls, url: str, headers: Mapping[str, str] | None = None, **settings: Any) -> McpServer:
        """Return a server that is running already, with the streamable HTTP transport.

        Args:
            url: its address, such as http://127.0.0.1:8000/mcp.
            headers: sent with every request, for example an `Authorization`.
            **settings: `only`, the names of the tools to offer (all if left out); `prefix`, put before their names;
                `timeout`, the seconds that a call may take (`turn_timeout` of the configuration if left out);
                `start_timeout`, the seconds until it must have listed its tools.
        """
        return cls(url, http(url, headers), **settings)

    async def tools(self) -> Sequence[Tool]:
        """Return the server's tools; the first call starts it.

        Raises:
            McpError: it can't be started, or lacks a tool that `only` names.
        """
        if self._tools is None:
            atexit.register(self._session.close)
            listed = await self._session.listed()
            self._tools = tuple(
                McpTool(self._session, one, self._prefix, self._timeout) for one in self._wanted(listed)
            )
        return self._tools

    async def close(self) -> None:
        """End the session, and with it a server that `stdio` started."""
        atexit.unregister(self._session.close)
        self._tools = None
        await call(self._session.close, what=f"closing the MCP server {self.name}")

    def _wanted(self, listed: Sequence[Any]) -> list[Any]:
        if self._only is None:
            return list(listed)
        offered = {one.name: one for one in listed}
        missing = [name for name in self._only if name not in offered]
        if missing:
            known = ", ".join(offered) or "none"
            raise McpError(f"the MCP server {self.name} has no tool {missing[0]!r}; it has {known}")
        return [offered[name] for name in self._only]

    def __repr__(self) -> str:
        return f"McpServer({self.name!r})"


class McpTool(Tool):
    """A tool that a server runs. What it can't do is text for the model, as with other tools."""

    def __init__(self, session: Session, described: Any, prefix: str, timeout: float | None) -> None:
        self.name = f"{prefix}{described.name}"
        self.description = described.description or ""
        self.parameters = {"type": "object", "properties": {}, **described.input_schema}
        self.timeout = timeout
        self.schema = {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }
        self._session = session
        self._remote_name = described.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Refuse: there is no function here."""
        raise TypeError(f"{self.name} runs in an MCP server; await its call()")

    def __repr__(self) -> str:
        return f"McpTool({self.name!r} of {self._session.name})"

    async def call(self, arguments: str | Mapping[str, Any]) -> ToolResult:
        """Let the server run the tool; the server checks the arguments."""
        try:
            given = json.loads(arguments or "{}") if isinstance(arguments, str) else dict(arguments)
        except ValueError as problem:
            return ToolResult(f"Error: the arguments of {self.name} are no JSON: {problem}", ok=False)
        if not isinstance(given, dict):
            return ToolResult(f"Error: the arguments of {self.name} must be a JSON object", ok=False)
        try:
            result = await call(self._session.call, self._remote_name, given, what=self.name, seconds=self.timeout)
        except (LateError, McpError) as problem:
            return ToolResult(shortened(f"Error: {problem}"), ok=False)
        text = shortened(_text(result))
        return ToolResult(f"Error: {text}", ok=False) if result.is_error else ToolResult(text)


def _text(result: Any) -> str:
    """Return what a model can read of a result: its texts, and a word about everything else."""
    parts = [_part(block) for block in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _part(block: Any) -> str:
    if block.type == "text":
        return str(block.text)
    inner = getattr(block, "resource", None)
    text = getattr(inner, "text", None)
    if isinstance(text, str):
        return text
    return " ".join(("[" + block.type, getattr(block, "mime_type", None) or "")).strip() + "]"
