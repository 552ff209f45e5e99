"""`finish`: the policy says that it is done, and what its answer is."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentic_rl.agents.task import Message
from agentic_rl.agents.tool import ToolResult, tool


@tool(inline=True)
def finish(answer: str) -> ToolResult:
    """Give the final answer. Call this once, when nothing is left to do.

    Args:
        answer: the answer alone, without explanation.
    """
    return ToolResult("The answer is noted.", final=True)


def finished(messages: Sequence[Message]) -> str | None:
    """Return the answer that the policy gave with its first complete call of `finish`, None without one.

    For the reward of an agent that offers the tool. The call ends the rollout of a `ToolAgent`.
    """
    for message in messages:
        for call in message.get("tool_calls") or ():
            answer = _answer(call)
            if answer is not None:
                return answer
    return None


def _answer(call: dict[str, object]) -> str | None:
    function = call.get("function")
    if "error" in call or not isinstance(function, dict) or function.get("name") != finish.name:
        return None
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except ValueError:
            return None
    answer = arguments.get("answer") if isinstance(arguments, dict) else None
    return answer if isinstance(answer, str) else None
