import asyncio
import json

import pytest

from agentic_rl import Task, ToolAgent
from agentic_rl.agents.tools.finish import finish, finished


def call(name: str, arguments: object, **more: object) -> dict:
    return {"id": "1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


class Policy:
    """Calls `finish` in its first turn, and would never stop by itself."""

    def __init__(self) -> None:
        self.metrics: dict = {}
        self.turns = 0

    async def chat(self, messages, tools=None, **sampling):
        self.turns += 1
        calls = [call("finish", json.dumps({"answer": f"answer {self.turns}"}))]
        return {"role": "assistant", "content": "", "tool_calls": calls, "finish_reason": "tool_calls"}


def test_the_call_ends_the_rollout_and_the_reward_sees_the_answer():
    policy = Policy()
    agent = ToolAgent(tools=[finish], reward=lambda task, messages: float(finished(messages) == "answer 1"))
    assert asyncio.run(agent.run(Task(prompt=[{"role": "user", "content": "?"}]), policy)) == 1.0
    assert policy.turns == 1


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [call("other", '{"answer": "no"}')],
        [call("finish", "{broken")],
        [call("finish", '{"answer": 3}')],
        [call("finish", "[]")],
        [call("finish", '{"answer": "no"}', error="the call could not be read")],
    ],
)
def test_what_is_no_complete_call_is_no_answer(calls):
    assert finished([{"role": "assistant", "tool_calls": calls}, {"role": "tool", "content": "x"}]) is None


def test_the_first_complete_call_counts():
    calls = [call("finish", "{}"), call("finish", {"answer": "yes"}), call("finish", '{"answer": "later"}')]
    assert finished([{"role": "user", "content": "?"}, {"role": "assistant", "tool_calls": calls}]) == "yes"
