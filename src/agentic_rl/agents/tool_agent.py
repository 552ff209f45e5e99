"""The usual agent: a tool loop around the policy."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from agentic_rl.agents.agent import Agent, ChatModel
from agentic_rl.agents.errors import BudgetExhaustedError
from agentic_rl.agents.task import Message, Task, with_system_prompt
from agentic_rl.agents.tool import Tool, ToolResult

Reward = Callable[[Task, Sequence[Message]], float | Awaitable[float]]
"""Judges a finished conversation."""


class ToolAgent(Agent):
    """Lets the policy call tools until it answers without a call, or until a budget ends.

    Args:
        system_prompt: put before the prompt of the data, unless that has a system message of its own; None: the
            data's prompt as it is.
        tools: what the policy may call, described to it by the chat template.
        reward: judges the conversation, however it ended; plain or async function of the task and the messages.
        max_turns: the most turns of a rollout; None: only the configuration's `max_steps` limits them.
    """

    def __init__(
        self,
        system_prompt: str | None = None,
        tools: Sequence[Tool] = (),
        reward: Reward | None = None,
        max_turns: int | None = None,
    ) -> None:
        self.system_prompt = system_prompt
        self.tools = tuple(tools)
        self.max_turns = max_turns
        self._reward = reward
        self._by_name = {tool.name: tool for tool in self.tools}
        if len(self._by_name) != len(self.tools):
            raise ValueError(f"two tools of one name among {[tool.name for tool in self.tools]}; rename one")

    def opening(self, task: Task) -> list[Message]:
        """Return the messages that a rollout starts with."""
        return with_system_prompt(self.system_prompt, task.prompt)

    async def reward(self, task: Task, messages: Sequence[Message]) -> float:
        """Judge a conversation; override it (plain or async), or give `reward` to the constructor."""
        if self._reward is None:
            raise NotImplementedError(f"{type(self).__name__} has no reward; pass `reward=` or override `reward`")
        judged = self._reward(task, messages)
        return await judged if inspect.isawaitable(judged) else judged

    async def run(self, task: Task, model: ChatModel) -> float:
        """Run the tool loop, then judge what is there."""
        messages = self.opening(task)
        # The end of the budget is a normal end: the reward decides what the unfinished conversation is worth.
        with contextlib.suppress(BudgetExhaustedError):
            await self._converse(messages, model)
        judged: Any = self.reward(task, messages)
        reward: float = await judged if inspect.isawaitable(judged) else judged
        return reward

    async def _converse(self, messages: list[Message], model: ChatModel) -> None:
        turn = 0
        while True:
            reply = await model.chat(messages, self.tools or None)
            messages.append(reply)
            turn += 1
            calls = reply.get("tool_calls")
            if not calls or reply.get("finish_reason") == "length" or turn == self.max_turns:
                return
            messages.extend(await self._answer(calls, model))

    async def _answer(self, calls: Sequence[dict[str, Any]], model: ChatModel) -> list[Message]:
        """Run the calls of one turn, at the same time if there are several; answers in the order of the calls."""
        if len(calls) == 1:
            results = [await self._call(calls[0])]
        else:
            results = await asyncio.gather(*map(self._call, calls))
        failed = sum(not result.ok for result in results)
        if failed:
            model.metrics["tool_errors"] = model.metrics.get("tool_errors", 0) + failed
        return [
            {"role": "tool", "tool_call_id": call["id"], "content": result.text}
            for call, result in zip(calls, results, strict=True)
        ]

    async def _call(self, call: dict[str, Any]) -> ToolResult:
        if "error" in call:
            return ToolResult(f"Error: {call['error']}", ok=False)
        name = call["function"]["name"]
        if name not in self._by_name:
            known = ", ".join(self._by_name) or "none"
            return ToolResult(f"Error: there is no tool {name!r}; tools: {known}", ok=False)
        return await self._by_name[name].call(call["function"]["arguments"])
