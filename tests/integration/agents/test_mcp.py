"""MCP servers are real here: a process that is spoken to over its standard input, and one on a port of loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.agents import McpError, McpServer, ToolAgent, ToolResult
from agentic_rl.agents.closing import close_agent
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import ScriptedEngine, make_task, make_tokenizer, spelled

pytest.importorskip("mcp", reason="needs the extra [mcp]")
pytestmark = pytest.mark.integration
SERVER = str(Path(__file__).parents[2] / "mcp_server.py")
TOKENIZER = make_tokenizer()


@pytest.fixture
def stdio() -> Iterator[McpServer]:
    server = McpServer.stdio(sys.executable, SERVER)
    yield server
    asyncio.run(server.close())


@pytest.fixture(scope="module")
def shared() -> Iterator[McpServer]:
    server = McpServer.stdio(sys.executable, SERVER)
    yield server
    asyncio.run(server.close())


def running(port: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen([sys.executable, SERVER, str(port)], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


@pytest.fixture
def port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


async def called(server: McpServer, name: str, arguments: Any) -> ToolResult:
    tools = {one.name: one for one in await server.tools()}
    return await tools[name].call(arguments)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_tools_are_described_as_others_are(shared: McpServer) -> None:
    tools = asyncio.run(shared.tools())
    assert [one.name for one in tools] == ["add", "fail", "long", "pid", "sleep", "die"]
    function = tools[0].schema["function"]
    assert (function["name"], function["description"]) == ("add", "Add two numbers.")
    assert function["parameters"]["required"] == ["a", "b"]
    assert asyncio.run(shared.tools()) is tools


@pytest.mark.parametrize(
    ("name", "arguments", "ok", "said"),
    [
        ("add", '{"a": 1, "b": 2}', True, "3"),
        ("add", {"a": 1, "b": 2}, True, "3"),
        ("add", '{"a": "x"}', False, "Input should be a valid integer"),
        ("add", '{"a":', False, "the arguments of add are no JSON"),
        ("add", "[1]", False, "must be a JSON object"),
        ("fail", "", False, "Error executing tool fail"),
        ("long", "{}", True, "characters left out]"),
    ],
)
def test_results_and_errors_are_text_for_the_model(
    shared: McpServer, name: str, arguments: Any, ok: bool, said: str
) -> None:
    result = asyncio.run(called(shared, name, arguments))
    assert result.ok is ok
    assert said in result.text
    assert len(result.text) < 40_000


def test_a_dead_server_is_an_error_and_started_again_by_the_next_call(stdio: McpServer) -> None:
    async def story() -> list[ToolResult]:
        return [await called(stdio, name, {}) for name in ("pid", "die", "pid")]

    first, dead, second = asyncio.run(story())
    assert not dead.ok
    assert "failed: Connection closed" in dead.text
    assert second.ok
    assert first.text != second.text


def test_closing_ends_the_process_and_a_later_use_starts_it_again(stdio: McpServer) -> None:
    process = int(asyncio.run(called(stdio, "pid", {})).text)
    assert alive(process)
    asyncio.run(stdio.close())
    assert not alive(process)
    asyncio.run(stdio.close())
    assert asyncio.run(called(stdio, "add", {"a": 1, "b": 1})).text == "2"


def test_calls_run_at_the_same_time_and_late_ones_are_given_up() -> None:
    server = McpServer.stdio(sys.executable, SERVER, timeout=1.0)

    async def story() -> list[ToolResult]:
        await server.tools()
        calls = [called(server, "sleep", {"seconds": 0.5}) for _ in range(20)]
        late = called(server, "sleep", {"seconds": 30})
        try:
            return await asyncio.gather(late, *calls)
        finally:
            await server.close()

    start = time.monotonic()
    late, *others = asyncio.run(story())
    assert late == ToolResult("Error: sleep took longer than 1 s", ok=False)
    assert all(one == ToolResult("awake") for one in others)
    assert time.monotonic() - start < 15


def test_a_rollout_that_is_cancelled_leaves_the_start_to_the_others(stdio: McpServer) -> None:
    async def story() -> int:
        first, second = asyncio.ensure_future(stdio.tools()), asyncio.ensure_future(stdio.tools())
        await asyncio.sleep(0.05)
        first.cancel()
        return len(await second)

    assert asyncio.run(story()) == 6


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ([sys.executable, SERVER, "broken"], r"can't be started: .*; it said: no database"),
        (["no-such-program-here"], r"no-such-program-here can't be started: .*No such file"),
        ([sys.executable, SERVER, "silent"], r"can't be started: it did not answer in 1 s"),
    ],
)
def test_a_server_that_does_not_start_says_why_once_for_all(command: list[str], said: str) -> None:
    server = McpServer.stdio(*command, start_timeout=1.0 if "silent" in command else 30.0)

    async def story() -> list[Any]:
        try:
            return await asyncio.gather(*(server.tools() for _ in range(50)), return_exceptions=True)
        finally:
            await server.close()

    start = time.monotonic()
    failures = asyncio.run(story())
    assert {type(one) for one in failures} == {McpError}
    assert time.monotonic() - start < 15
    with pytest.raises(McpError, match=said):
        raise failures[0]


def test_what_a_server_prints_is_bounded_and_does_not_block_it() -> None:
    server = McpServer.stdio(sys.executable, SERVER, "noisy")
    assert asyncio.run(called(server, "add", {"a": 1, "b": 2})).text == "3"
    asyncio.run(server.close())
    assert len(str(server._session._said)) < 3_000


def test_only_some_tools_and_a_prefix() -> None:
    async def story() -> list[str]:
        server = McpServer.stdio(sys.executable, SERVER, only=["pid", "add"], prefix="small_")
        names = [one.name for one in await server.tools()]
        assert (await called(server, "small_add", {"a": 2, "b": 2})).text == "4"
        await server.close()
        other = McpServer.stdio(sys.executable, SERVER, only=["sub"])
        with pytest.raises(McpError, match=r"has no tool 'sub'; it has add, fail"):
            await other.tools()
        await other.close()
        return names

    assert asyncio.run(story()) == ["small_pid", "small_add"]


def test_http_with_a_server_that_dies_and_comes_back(port: int) -> None:
    server = McpServer.http(f"http://127.0.0.1:{port}/mcp", headers={"Authorization": "Bearer x"})
    process = running(port)

    async def story() -> None:
        nonlocal process
        assert (await called(server, "add", {"a": 1, "b": 2})).text == "3"
        died = await called(server, "die", {})
        assert not died.ok
        assert f"the MCP server http://127.0.0.1:{port}/mcp" in died.text
        process.wait()
        assert "can't be started" in (await called(server, "add", {"a": 1, "b": 2})).text
        process = running(port)
        server._session._failed_at = 0.0  # the time of not trying again is over
        assert (await called(server, "add", {"a": 1, "b": 2})).text == "3"

    try:
        asyncio.run(story())
    finally:
        asyncio.run(server.close())
        process.kill()
        process.wait()


def test_a_tool_agent_uses_a_server_and_closes_it() -> None:
    server = McpServer.stdio(sys.executable, SERVER, only=["add", "die", "pid"])
    agent = ToolAgent(tools=[server], reward=lambda task, messages: float(messages[-1]["content"] == "5"))
    turns = [
        '<tool_call>\n{"name": "die", "arguments": {}}\n</tool_call>',
        '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>',
        "5",
    ]
    engine = ScriptedEngine([spelled(TOKENIZER, turn) for turn in turns])
    settings = {"max_prompt_length": 2048, "max_response_length": 2048, "max_tokens": 512, "max_steps": 4}
    driver = Driver(engine, ChatFormat(TOKENIZER), **settings)

    async def story() -> Any:
        (trajectory,) = await driver.run(agent, [make_task()])
        process = int((await called(server, "pid", {})).text)
        await close_agent(agent)
        return trajectory, process

    trajectory, process = asyncio.run(story())
    assert (trajectory.error, trajectory.trajectory_reward) == ("", 1.0)
    assert trajectory.metrics["tool_errors"] == 1
    results = [one["content"] for one in trajectory.chat_completions if one["role"] == "tool"]
    assert "Connection closed" in results[0]
    assert results[1] == "5"
    assert not alive(process)
