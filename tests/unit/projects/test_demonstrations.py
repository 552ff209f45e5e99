from __future__ import annotations

import json
import random
import re
from collections import Counter
from typing import Any

import pytest

from agentic_rl.agents.tools.calculator import calculate
from agentic_rl.projects.quickstart.demonstrations import GUESSES, WEIGHTS, make_demonstrations
from agentic_rl.projects.quickstart.problems import held_out

Conversation = list[dict[str, Any]]


@pytest.fixture(scope="module")
def conversations() -> list[Conversation]:
    return make_demonstrations(4096, random.Random(0))


def expression(conversation: Conversation) -> str:
    return str(json.loads(conversation[1]["tool_calls"][0]["function"]["arguments"])["expression"])


def calls(conversations: list[Conversation]) -> list[Conversation]:
    return [conversation for conversation in conversations if len(conversation) == 4]


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", text)]


def test_a_call_copies_the_numbers_and_the_answer_copies_the_result(conversations: list[Conversation]) -> None:
    for conversation in calls(conversations):
        question, call, result, answer = conversation
        assert numbers(expression(conversation)) == numbers(question["content"])
        assert result["content"] == calculate(expression(conversation))
        assert answer["content"] == f"\\boxed{{{result['content']}}}"
        assert result["tool_call_id"] == call["tool_calls"][0]["id"]


def test_the_operation_does_not_depend_on_the_question(conversations: list[Conversation]) -> None:
    """What is left to reinforcement: an operation fits its question no more often than another."""
    symbols: dict[str, Counter[str]] = {}
    for conversation in calls(conversations):
        a, b = numbers(conversation[0]["content"])
        if a % b:  # otherwise a division may be drawn, too
            wording = "loses" if "loses" in conversation[0]["content"] else "others"
            symbol = re.sub(r"\d", "", expression(conversation))
            symbols.setdefault(wording, Counter())[symbol] += 1
    shares = {wording: count["-"] / count.total() for wording, count in symbols.items()}
    expected = WEIGHTS["-"] / (sum(WEIGHTS.values()) - WEIGHTS["/"])
    assert shares["loses"] == pytest.approx(expected, abs=0.08)
    assert shares["others"] == pytest.approx(expected, abs=0.03)


def test_some_guess_without_the_calculator(conversations: list[Conversation]) -> None:
    share = 1 - len(calls(conversations)) / len(conversations)
    assert abs(share - GUESSES) < 0.03


def test_no_held_out_numbers_are_shown(conversations: list[Conversation]) -> None:
    assert not any(held_out(*numbers(conversation[0]["content"])) for conversation in conversations)
