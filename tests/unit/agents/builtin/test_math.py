from __future__ import annotations

import asyncio

import pytest

from agentic_rl.agents import Message, Task, tool
from agentic_rl.agents.builtin.math import MAKERS, MathAgent, calculator, exact_answer

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


def tools(agent: MathAgent, **extra: object) -> list[str]:
    return [one.name for one in asyncio.run(agent.tools_for(Task([], extra_info=extra)))]


def test_the_tools_are_the_calculator_unless_row_or_setting_say_otherwise() -> None:
    agent = MathAgent()
    assert tools(agent) == ["calculator"]
    assert tools(agent, tool_selection=None) == ["calculator"]
    assert tools(agent, tool_selection=["calculator"], index=3) == ["calculator"]
    assert tools(MathAgent(tools=())) == []
    with pytest.raises(ValueError, match=r"tool_selection has 'bash'; the agent's tools are calculator, python"):
        tools(agent, tool_selection=["bash"])
    with pytest.raises(ValueError, match=r"tools has shell; there are: calculator, python"):
        MathAgent(tools=["shell"])


def test_python_is_made_once_where_a_row_asks_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def python(code: str) -> str:
        """Run code."""
        return code

    made = []
    monkeypatch.setitem(MAKERS, "python", lambda: made.append(1) or python)
    agent = MathAgent()
    assert tools(agent, tool_selection=["python"]) == ["python"]
    assert tools(agent, tool_selection=["python", "calculator"]) == ["calculator", "python"]
    assert tools(MathAgent(tools=["python"])) == ["python"]
    assert len(made) == 2


@pytest.mark.parametrize(("answer", "reward"), [("x+1", 1.0), ("x+2", 0.0), ("1 + x", 1.0)])
def test_other_mathematics_is_compared_beside_the_event_loop(answer: str, reward: float) -> None:
    reply = {"role": "assistant", "content": rf"\boxed{{{answer}}}"}
    judged = MathAgent().reward(Task(TASK.prompt, ground_truth="1+x"), [*TASK.prompt, reply])
    assert asyncio.run(judged) == reward


def test_the_calculator_is_a_tool() -> None:
    assert asyncio.run(calculator.call('{"expression": "12*7"}')).text == "84"
