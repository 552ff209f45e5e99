"""What tests of the gateway share: an agent that is a function of a client, and a small client of HTTP."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import aiohttp

from agentic_rl.agents import Agent, Task, Trajectory
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from agentic_rl.rollout.engines.base import Engine
from rollout_doubles import ScriptedEngine, call_text, make_task, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer())
CALL = spelled(FORMAT.tokenizer, call_text("12*7"))
ANSWER = spelled(FORMAT.tokenizer, "84 it is")
ARITHMETIC = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Work it out.",
        "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}},
    },
}
LIMITS = {"max_prompt_length": 999, "max_response_length": 999, "max_tokens": 200, "max_steps": 9}


class Client:
    """Speaks to a model's address."""

    def __init__(self, session: aiohttp.ClientSession, model: Any) -> None:
        self.model = model
        self._session = session

    async def send(self, method: str, path: str, key: str | None = None, **options: Any) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {key or self.model.api_key}", **options.pop("headers", {})}
        if "json" in options:
            options["data"] = io.BytesIO(json.dumps(options.pop("json")).encode())
        url = path if path.startswith("http") else f"{self.model.base_url}/{path}"
        async with self._session.request(method, url, headers=headers, **options) as response:
            return response.status, await response.text()

    async def post(self, path: str, **body: Any) -> dict[str, Any]:
        """The answer, which must be none of an error."""
        status, text = await self.send("POST", path, json=body)
        assert status == 200, text
        return dict(json.loads(text))

    async def chat(self, messages: Sequence[Any], **body: Any) -> dict[str, Any]:
        return await self.post("chat/completions", model="m", messages=messages, **body)

    async def refusal(self, path: str, **body: Any) -> tuple[int, dict[str, Any]]:
        """Status and error of an answer that must be one."""
        status, text = await self.send("POST", path, json=body)
        assert status != 200, text
        return status, json.loads(text)["error"]

    async def stream(self, path: str, **body: Any) -> list[dict[str, Any]]:
        status, text = await self.send("POST", path, json={**body, "stream": True})
        assert status == 200, text
        lines = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]
        return [json.loads(line) for line in lines if line != "[DONE]"]


class Visitor(Agent):
    """Does with a client what a function says; what that raises is kept."""

    def __init__(self, work: Callable[[Client], Awaitable[object]]) -> None:
        self._work = work
        self.failure: BaseException | None = None

    async def run(self, task: Task, model: Any) -> float:
        async with aiohttp.ClientSession() as session:
            try:
                await self._work(Client(session, model))
            except BaseException as error:
                self.failure = error
                raise
        return 1.0


def roll(
    agent: Agent, engine: Engine | Sequence[Sequence[int]] = (CALL, ANSWER), tasks: Sequence[Task] = (), **limits: Any
) -> list[Trajectory]:
    """Run an agent with a driver whose gateway is closed again."""
    scripted = ScriptedEngine(engine) if isinstance(engine, Sequence) else engine

    async def run() -> list[Trajectory]:
        driver = Driver(scripted, FORMAT, **{**LIMITS, **limits})  # type: ignore[arg-type]
        try:
            return await driver.run(agent, tasks or [make_task()])
        finally:
            await driver.close()

    return asyncio.run(run())


def visit(
    work: Callable[[Client], Awaitable[object]],
    engine: Engine | Sequence[Sequence[int]] = (CALL, ANSWER),
    **limits: Any,
) -> Trajectory:
    """Let a function be the agent; raise what it raises."""
    visitor = Visitor(work)
    (trajectory,) = roll(visitor, engine, **limits)
    if visitor.failure is not None:
        raise visitor.failure
    return trajectory
