"""`server_addresses` of wrappers: calls without a key, recorded for the batch."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import aiohttp
import pytest

from agentic_rl.agents import BaseEngineWrapper, Trajectory
from agentic_rl.rollout.driver import Driver
from gateway_doubles import ANSWER, ARITHMETIC, CALL, FORMAT, LIMITS
from rollout_doubles import ScriptedEngine, make_task

MESSAGES = [{"role": "user", "content": "How many?"}]
KEPT: dict[str, Any] = {}


def ask(address: str, path: str, **body: Any) -> dict[str, Any]:
    """As old agent files do: no key, no scheme in the address."""
    request = Request(f"http://{address}/v1/{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=20) as response:
        return dict(json.load(response))


class Batches(BaseEngineWrapper):
    def generate_agent_trajectories_async(self, tasks: list[dict[str, Any]]) -> list[Trajectory]:
        (address,) = self.server_addresses
        KEPT["address"] = address
        made = []
        for place in range(len(tasks)):
            prompt = FORMAT.initial_ids(MESSAGES)
            answer = ask(address, "completions", model="m", prompt=list(prompt), return_token_ids=True)
            ids = answer["choices"][0]["token_ids"]
            made.append(Trajectory(list(prompt), ids, [1] * len(ids), idx=place, trajectory_reward=1.0))
        KEPT["chat"] = ask(address, "chat/completions", messages=MESSAGES, tools=[ARITHMETIC], logprobs=True, n=2)
        KEPT["response"] = ask(address, "responses", input="How many?")
        return made


class Singles(BaseEngineWrapper):
    async def generate_trajectory(self, task: Any, stream_queue: Any = None) -> Trajectory:
        url = f"http://{self.server_addresses[0]}/v1/chat/completions"
        async with aiohttp.ClientSession() as session, session.post(url, json={"messages": MESSAGES}) as response:
            text = (await response.json())["choices"][0]["message"]["content"]
        return Trajectory(list(FORMAT.initial_ids(MESSAGES)), FORMAT.encode(text), [1] * len(FORMAT.encode(text)))


def run(wrapper: type[BaseEngineWrapper], replies: list[list[int]]) -> list[Trajectory]:
    async def both() -> list[Trajectory]:
        driver = Driver(ScriptedEngine(replies), FORMAT, **LIMITS)  # type: ignore[arg-type]
        try:
            results = await driver.run(wrapper, [make_task(idx=0), make_task(idx=1)])
            if KEPT.get("address"):
                with pytest.raises(HTTPError) as caught:
                    await asyncio.to_thread(ask, KEPT["address"], "chat/completions", messages=MESSAGES)
                KEPT["late"] = caught.value.code
                caught.value.close()
            return results
        finally:
            await driver.close()

    KEPT.clear()
    return asyncio.run(both())


def test_a_batch_asks_an_address() -> None:
    results = run(Batches, [ANSWER, ANSWER, CALL, CALL, ANSWER])
    assert [(one.error, list(one.response_tokens)) for one in results] == [("", ANSWER)] * 2
    assert results[0].response_logprobs == [-0.001 * (place + 1) for place in range(len(ANSWER))]
    choices = KEPT["chat"]["choices"]
    assert [choice["message"]["tool_calls"][0]["function"]["name"] for choice in choices] == ["calculator"] * 2
    assert len(choices[0]["logprobs"]["content"]) == len(CALL)
    assert KEPT["response"]["output"][0]["content"][0]["text"] == "84 it is"
    assert KEPT["late"] == 410


def test_single_tasks_ask_an_address() -> None:
    assert [(one.error, len(one.response_tokens) > 0) for one in run(Singles, [ANSWER])] == [("", True)] * 2
