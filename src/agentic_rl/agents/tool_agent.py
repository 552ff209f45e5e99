"""The usual agent: a tool loop around the policy."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agentic_rl.agents.agent import Agent, ChatModel
from agentic_rl.agents.errors import BudgetExhaustedError
from agentic_rl.agents.task import Message, Task, with_system_prompt
from agentic_rl.agents.tool import Tool, ToolResult
from agentic_rl.agents.tool_source import ToolSource, by_name, chosen

Reward = Callable[[Task, Sequence[Message]], float | Awaitable[float]]
"""Judges a finished conversation."""


class ToolAgent(Agent):
    """Lets the policy call tools until it answers without a call, or until a budget ends.

    Args:
        system_prompt: put before the prompt of the data, unless that has a system message of its own; None: the
            data's prompt as it is.
        tools: what the policy may call, described to it by the chat template; a source, such as an MCP server, gives
            its tools when the first rollout asks for them. A row of the data may leave only some of them to its task:
            `extra_info.tool_selection` is a list of names.
        reward: judges the conversation, however it ended; plain or async function of the task and the messages.
        max_turns: the most turns of a rollout; None: only the configuration's `max_steps` limits them.
    """

    def __init__(
        self,
        system_prompt: str | None = None,
        tools: Sequence[Tool | ToolSource] = (),
        reward: Reward | None = None,
        max_turns: int | None = None,
    ) -> None:
        self.system_prompt = system_prompt
        self.tools = tuple(tools)
        self.max_turns = max_turns
        self._reward = reward
        self._sources = [one for one in self.tools if isinstance(one, ToolSource)]
        self._named = by_name(one for one in self.tools if isinstance(one, Tool))

    def opening(self, task: Task) -> list[Message]:
        """Return the messages that a rollout starts with."""
        return with_system_prompt(self.system_prompt, task.prompt)

    async def tools_for(self, task: Task) -> Sequence[Tool]:
        """Return what the policy may call in this task; override it to choose otherwise than by the row."""
        return tuple((await self._tools_for(task)).values())

    async def reward(self, task: Task, messages: Sequence[Message]) -> float:
        """Judge a conversation; override it (plain or async), or give `reward` to the constructor."""
        if self._reward is None:
            raise NotImplementedError(f"{type(self).__name__} has no reward; pass `reward=` or override `reward`")
        judged = self._reward(task, messages)
        return await judged if inspect.isawaitable(judged) else judged

    async def run(self, task: Task, model: ChatModel) -> float:
        """Run the tool loop, then judge what is there."""
        messages = self.opening(task)
        tools = await self._tools_of(task)
        # The end of the budget is a normal end: the reward decides what the unfinished conversation is worth.
        with contextlib.suppress(BudgetExhaustedError):
            await self._converse(messages, tools, model)
        judged: Any = self.reward(task, messages)
        reward: float = await judged if inspect.isawaitable(judged) else judged
        return reward

    async def close(self) -> None:
        """Close the sources of tools."""
        for source in self._sources:
            await source.close()

    async def _tools_of(self, task: Task) -> Mapping[str, Tool]:
        if type(self).tools_for is ToolAgent.tools_for:
            return await self._tools_for(task)
        return by_name(await self.tools_for(task))

    async def _tools_for(self, task: Task) -> dict[str, Tool]:
        named = self._named
        if self._sources:
            listed = [one for source in self._sources for one in await source.tools()]
            named = by_name([*named.values(), *listed])
        choice = chosen(named, task.extra_info) if task.extra_info else frozenset(named)
        if len(choice) == len(named):
            return named
        return {name: one for name, one in named.items() if name in choice}

    async def _converse(self, messages: list[Message], tools: Mapping[str, Tool], model: ChatModel) -> None:
        offered = tuple(tools.values()) or None
        turn = 0
        while True:
            reply = await model.chat(messages, offered)
            messages.append(reply)
            turn += 1
            calls = reply.get("tool_calls")
            if not calls or reply.get("finish_reason") == "length" or turn == self.max_turns:
                return
            results = await _results(calls, tools, model)
            messages.extend(_answers(calls, results))
            if any(result.final for result in results):
                return


async def _results(calls: Sequence[dict[str, Any]], tools: Mapping[str, Tool], model: ChatModel) -> list[ToolResult]:
    """Run the calls of one turn, at the same time if there are several; results in the order of the calls."""
    if len(calls) == 1:
        results = [await _call(calls[0], tools)]
    else:
        results = await asyncio.gather(*(_call(call, tools) for call in calls))
    failed = sum(not result.ok for result in results)
    if failed:
        model.metrics["tool_errors"] = model.metrics.get("tool_errors", 0) + failed
    return results


def _answers(calls: Sequence[dict[str, Any]], results: Sequence[ToolResult]) -> list[Message]:
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": result.text}
        for call, result in zip(calls, results, strict=True)
    ]


async def _call(call: dict[str, Any], tools: Mapping[str, Tool]) -> ToolResult:
    if "error" in call:
        return ToolResult(f"Error: {call['error']}", ok=False)
    name = call["function"]["name"]
    if name not in tools:
        known = ", ".join(tools) or "none"
        return ToolResult(f"Error: there is no tool {name!r}; tools: {known}", ok=False)
    return await tools[name].call(call["function"]["arguments"])
