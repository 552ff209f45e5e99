"""Conversations for the supervised warm-up: they show the form of a call and of an answer, not what to compute.

The operation is drawn at random, most often an addition, whatever the question asks. So the warmed-up policy copies
numbers and adds, which is right for one question in four; the rest is left to reinforcement.
"""

from __future__ import annotations

import json
import random
from typing import Any

from agentic_rl.agents.tools.calculator import calculate
from agentic_rl.projects.quickstart.problems import OPERATIONS, Problem, make_problems

WEIGHTS = {"+": 5, "-": 2, "*": 2, "/": 2}
"""How often each operation is drawn. With 6 for additions one of five seeds never learned a third of the subtractions;
with 4, some warmed-up policies were right for one question in three."""
GUESSES = 0.15
"""Share of the conversations that guess an answer without the calculator."""


def make_demonstrations(count: int, rng: random.Random) -> list[list[dict[str, Any]]]:
    """`count` conversations on problems with training numbers, as lists of chat messages."""
    return [_demonstrate(problem, rng) for problem in make_problems(count, rng, test=False)]


def _demonstrate(problem: Problem, rng: random.Random) -> list[dict[str, Any]]:
    question = {"role": "user", "content": problem.text}
    if rng.random() < GUESSES:
        return [question, _answer(str(rng.randrange(100)))]
    expression = f"{problem.a}{_any_symbol(problem, rng)}{problem.b}"
    result = calculate(expression)
    return [question, _call(expression), _result(result), _answer(result)]


def _any_symbol(problem: Problem, rng: random.Random) -> str:
    """An operation with a whole result: long decimals would only teach to copy long decimals."""
    symbols = [one.symbol for one in OPERATIONS if one.symbol != "/" or problem.a % problem.b == 0]
    return rng.choices(symbols, [WEIGHTS[symbol] for symbol in symbols])[0]


def _call(expression: str) -> dict[str, Any]:
    arguments = json.dumps({"expression": expression})
    call = {"id": "call_0", "type": "function", "function": {"name": "calculator", "arguments": arguments}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


def _result(text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": "call_0"}


def _answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": f"\\boxed{{{text}}}"}
