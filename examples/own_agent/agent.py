"""An agent with a tool and a reward of its own: right answers, with as few calls as possible."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentic_rl import Task, ToolAgent, tool

OPERATIONS = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right,
}


@tool(inline=True)
def calculator(expression: str) -> str:
    """Work out two numbers and one sign.

    Args:
        expression: such as 12*7.
    """
    parts = re.fullmatch(r"\s*(\d+)\s*([-+*/])\s*(\d+)\s*", expression)
    if parts is None:
        raise ValueError(f"{expression!r} is not two whole numbers with + - * or / between them")
    left, sign, right = parts.groups()
    return str(OPERATIONS[sign](int(left), int(right)))


def reward(task: Task, messages: Sequence[dict]) -> float:
    """1 for the right number in the box, less 0.1 for every call beyond the first."""
    boxed = re.findall(r"\\boxed\{([^}]*)\}", messages[-1].get("content") or "")
    if not boxed or boxed[-1].strip() != str(task.ground_truth):
        return 0.0
    calls = sum(len(message.get("tool_calls") or ()) for message in messages)
    return 1.0 - 0.1 * max(0, calls - 1)


class Frugal(ToolAgent):
    """`agent_name: frugal`."""

    def __init__(self) -> None:
        super().__init__(tools=[calculator], reward=reward)
