"""An agent of any framework, as the gateway sees it: a plain loop of aiohttp on `model.base_url`, and our driver."""

from __future__ import annotations

import argparse
from typing import Any

import aiohttp
from measured import TOOL, TURNS, measure
from ours import ANSWER, driver_of, prepare, tasks_of

from agentic_rl.agents import Agent, ChatModel, Task


class Foreign(Agent):
    """Knows nothing but an address and a key."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def run(self, task: Task, model: ChatModel) -> float:
        """Call the tool until the answer comes."""
        messages: list[Any] = list(task.prompt)
        headers = {"Authorization": f"Bearer {model.api_key}"}
        for _ in range(TURNS):
            body = {"model": "policy", "messages": messages, "tools": [TOOL], "logprobs": True}
            url = f"{model.base_url}/chat/completions"
            async with self._session.post(url, json=body, headers=headers) as response:
                message = (await response.json())["choices"][0]["message"]
            messages.append(message)
            calls = message.get("tool_calls") or ()
            messages += [{"role": "tool", "tool_call_id": call["id"], "content": "84"} for call in calls]
        return float(messages[-1]["content"] == ANSWER)


async def run(options: argparse.Namespace) -> int:
    """Make the rollouts."""
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        engine, driver = await driver_of(options)
        try:
            trajectories = await driver.run(Foreign(session), tasks_of(options))
        finally:
            await driver.close()
            await engine.close()
    return sum(one.trajectory_reward == 1.0 and one.metrics["turns"] == TURNS for one in trajectories)


if __name__ == "__main__":
    measure(run, ["tokens", "timeout"], prepare)
