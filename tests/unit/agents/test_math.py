from __future__ import annotations

import asyncio

import pytest

from agentic_rl.agents import Message, Task
from agentic_rl.agents.builtin.math import MathAgent, calculator, exact_answer

TASK = Task([{"role": "user", "content": "q"}], ground_truth="84")


@pytest.mark.parametrize(
    ("last", "reward"),
    [
        ({"role": "assistant", "content": r"It is \boxed{84}."}, 1.0),
        ({"role": "assistant", "content": r"It is \boxed{85}."}, 0.0),
        ({"role": "assistant", "content": "It is 84."}, 0.0),
        ({"role": "assistant", "content": None}, 0.0),
        ({"role": "tool", "content": r"\boxed{84}"}, 0.0),
    ],
)
def test_the_reward_is_an_exact_answer_of_the_policy(last: Message, reward: float) -> None:
    assert exact_answer(TASK, [*TASK.prompt, last]) == reward


def test_a_ground_truth_may_be_a_number() -> None:
    answer = {"role": "assistant", "content": r"\boxed{84}"}
    assert exact_answer(Task(TASK.prompt, ground_truth=84), [answer]) == 1.0


def test_the_prompt_of_the_data_is_used_as_it_is() -> None:
    assert MathAgent().opening(TASK) == TASK.prompt


def test_the_calculator_is_a_tool() -> None:
    assert MathAgent().tools == (calculator,)
    assert asyncio.run(calculator.call('{"expression": "12*7"}')).text == "84"
