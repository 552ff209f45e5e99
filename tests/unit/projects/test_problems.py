from __future__ import annotations

import random
from collections import Counter

import pytest

from agentic_rl.agents.tools.calculator import calculate
from agentic_rl.projects.quickstart.problems import OPERATIONS, Operation, held_out, make_problems, number_pairs


@pytest.mark.parametrize("test", [False, True])
def test_answers_are_what_the_calculator_gives(test: bool) -> None:
    for problem in make_problems(400, random.Random(0), test=test):
        assert calculate(problem.expression) == str(problem.answer)
        assert 0 <= problem.answer < 100


def test_problems_are_distinct_and_evenly_spread() -> None:
    problems = make_problems(400, random.Random(0), test=False)
    assert len({problem.text for problem in problems}) == 400
    assert Counter(problem.operation.name for problem in problems) == dict.fromkeys(
        ("add", "subtract", "multiply", "divide"), 100
    )


def test_questions_show_both_numbers_in_the_order_of_the_expression() -> None:
    for problem in make_problems(100, random.Random(0), test=False):
        numbers = [int(word) for word in problem.text.replace(".", " ").split() if word.isdigit()]
        assert numbers == [problem.a, problem.b]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_the_pairs_of_the_test_set_are_never_trained_on_in_either_order(operation: Operation) -> None:
    trained = {pair for one in OPERATIONS for pair in number_pairs(one, test=False)}
    held = number_pairs(operation, test=True)
    assert len(held) >= 30
    assert not trained & {*held, *((b, a) for a, b in held)}


def test_about_one_pair_in_eight_is_held_out() -> None:
    shares = [held_out(a, b) for a in range(2, 98) for b in range(a, 98)]
    assert 0.11 < sum(shares) / len(shares) < 0.14
