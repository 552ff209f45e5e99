from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from agentic_rl.agents import BudgetExhaustedError, Message, StepLimitError, Task, ToolAgent, tool


@tool(inline=True)
def double(x: int) -> int:
    """Double a number."""
    return 2 * x


@tool
async def slow_double(x: int) -> int:
    """Double a number, later."""
    await asyncio.sleep(0)
    return 2 * x


def call(name: str, place: int, **arguments: Any) -> dict[str, Any]:
    return {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def reply(content: str = "", *calls: dict[str, Any], finish_reason: str = "stop") -> Message:
    message: Message = {"role": "assistant", "content": content, "finish_reason": finish_reason}
    return {**message, "tool_calls": list(calls)} if calls else message


class ScriptedModel:
    """A test double of `ChatModel` that gives prepared replies, and raises prepared exceptions."""

    def __init__(self, *replies: Message | Exception) -> None:
        self.metrics: dict[str, Any] = {}
        self.shown: list[list[Message]] = []
        self._replies = iter(replies)

    async def chat(self, messages: Sequence[Message], tools: Any = None, **sampling: Any) -> Message:
        self.shown.append([*messages])
        given = next(self._replies)
        if isinstance(given, Exception):
            raise given
        return given


def last_content(task: Task, messages: Sequence[Message]) -> float:
    return float(messages[-1].get("content") == task.ground_truth)


def run(agent: ToolAgent, model: ScriptedModel, **task: Any) -> float:
    return asyncio.run(agent.run(Task([{"role": "user", "content": "q"}], **task), model))


def test_calls_are_answered_until_there_are_none() -> None:
    model = ScriptedModel(reply("", call("double", 0, x=4)), reply("8"))
    assert run(ToolAgent(None, [double], last_content), model, ground_truth="8") == 1.0
    assert model.shown[1][1:] == [
        reply("", call("double", 0, x=4)),
        {"role": "tool", "tool_call_id": "c0", "content": "8"},
    ]
    assert model.metrics == {}


def test_several_calls_are_answered_in_their_order_and_mistakes_are_counted() -> None:
    broken = {**call("", 1), "error": "the tool call '{' can't be read"}
    calls = [call("slow_double", 0, x=1), broken, call("triple", 2, x=1), call("double", 3, y=1)]
    model = ScriptedModel(reply("", *calls), reply("done"))
    run(ToolAgent(None, [double, slow_double], last_content), model)
    answers = [message["content"] for message in model.shown[1][2:]]
    assert answers[0] == "2"
    assert answers[1] == "Error: the tool call '{' can't be read"
    assert answers[2] == "Error: there is no tool 'triple'; tools: double, slow_double"
    assert answers[3].startswith("Error: wrong arguments for double: x: Field required")
    assert [message["tool_call_id"] for message in model.shown[1][2:]] == ["c0", "c1", "c2", "c3"]
    assert model.metrics == {"tool_errors": 3}


@pytest.mark.parametrize("end", [BudgetExhaustedError("no tokens"), StepLimitError("no turns")])
def test_the_end_of_a_budget_is_judged_on_what_is_there(end: Exception) -> None:
    model = ScriptedModel(reply("", call("double", 0, x=4)), end)
    assert run(ToolAgent(None, [double], last_content), model, ground_truth="8") == 1.0


def test_a_reply_that_was_cut_ends_the_rollout_without_running_its_calls() -> None:
    model = ScriptedModel(reply("8", call("double", 0, x=4), finish_reason="length"))
    assert run(ToolAgent(None, [double], last_content), model, ground_truth="8") == 1.0


def test_max_turns_of_the_agent() -> None:
    model = ScriptedModel(*[reply("", call("double", 0, x=4))] * 5)
    run(ToolAgent(None, [double], last_content, max_turns=2), model)
    assert len(model.shown) == 2


def test_a_system_message_of_the_data_wins() -> None:
    agent = ToolAgent("from the agent", (), last_content)
    asked = {"role": "user", "content": "q"}
    assert agent.opening(Task([asked])) == [{"role": "system", "content": "from the agent"}, asked]
    own = [{"role": "system", "content": "from the data"}, asked]
    assert agent.opening(Task(own)) == own
    assert ToolAgent().opening(Task([asked])) == [asked]


def test_the_reward_may_be_async_or_overridden_but_not_missing() -> None:
    async def later(task: Task, messages: Sequence[Message]) -> float:
        return 0.5

    class Own(ToolAgent):
        async def reward(self, task: Task, messages: Sequence[Message]) -> float:
            return 0.25

    assert run(ToolAgent(reward=later), ScriptedModel(reply("x"))) == 0.5
    assert run(Own(), ScriptedModel(reply("x"))) == 0.25
    with pytest.raises(NotImplementedError, match="ToolAgent has no reward"):
        run(ToolAgent(), ScriptedModel(reply("x")))


def test_an_overridden_reward_may_be_plain() -> None:
    class Plain(ToolAgent):
        def reward(self, task: Task, messages: Sequence[Message]) -> float:  # type: ignore[override]
            return 0.25

    assert run(Plain(), ScriptedModel(reply("8"))) == 0.25
