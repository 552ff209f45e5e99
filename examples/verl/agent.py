"""An agent with a calculator, whose reward a random model can raise: the share of digits in its answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentic_rl import Task, ToolAgent, tool

OPERATIONS = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__}


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
    """1 for the right number in a box, else half the share of digits in the last message."""
    answer = messages[-1].get("content") or ""
    if re.findall(r"\\boxed\{([^}]*)\}", answer)[-1:] == [str(task.ground_truth)]:
        return 1.0
    return 0.5 * sum(character.isdigit() for character in answer) / max(len(answer), 1)


class Digits(ToolAgent):
    """`agent_name: digits`."""

    def __init__(self) -> None:
        super().__init__(tools=[calculator], reward=reward)
