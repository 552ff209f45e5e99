"""The `openai` package, as it is, against the gateway."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

openai = pytest.importorskip("openai", reason="session frameworks")

from agentic_rl.agents import Agent, Task, Trajectory  # noqa: E402 - after the check
from agentic_rl.agents.trajectory import Segment  # noqa: E402
from gateway_doubles import ANSWER, ARITHMETIC, CALL, FORMAT, roll  # noqa: E402
from rollout_doubles import ScriptedEngine  # noqa: E402

pytestmark = pytest.mark.integration
USER: Any = {"role": "user", "content": "How many?"}
FLAT: Any = {"type": "function", "strict": None, **ARITHMETIC["function"]}  # type: ignore[dict-item]


class Calls(Agent):
    """Does with a client what a function says; without `async` where the function is."""

    def __init__(self, work: Any) -> None:
        self._work = work

    async def run(self, task: Task, model: Any) -> float:
        if asyncio.iscoroutinefunction(self._work):
            async with openai.AsyncOpenAI(base_url=model.base_url, api_key=model.api_key, max_retries=0) as client:
                await self._work(client)
            return 1.0

        def blocking() -> None:
            with openai.OpenAI(base_url=model.base_url, api_key=model.api_key, max_retries=0) as client:
                self._work(client)

        await asyncio.to_thread(blocking)
        return 1.0


def rolled(work: Any, replies: Any = (CALL, ANSWER), **limits: Any) -> Trajectory:
    (trajectory,) = roll(Calls(work), replies, **limits)
    assert trajectory.error == ""
    return trajectory


def only(trajectory: Trajectory) -> Segment:
    (part,) = trajectory.parts()
    return part


def test_async_chat_with_a_tool() -> None:
    async def work(client: Any) -> None:
        messages = [USER]
        first = (await client.chat.completions.create(model="x", messages=messages, tools=[ARITHMETIC])).choices[0]
        (call,) = first.message.tool_calls
        assert (first.finish_reason, call.function.arguments) == ("tool_calls", '{"expression": "12*7"}')
        messages += [first.message, {"role": "tool", "tool_call_id": call.id, "content": "84"}]
        second = await client.chat.completions.create(model="x", messages=messages, tools=[ARITHMETIC])
        assert second.choices[0].message.content == "84 it is"

    assert sum(only(rolled(work)).response_masks) == len(CALL) + len(ANSWER)


def test_blocking_chat_in_a_thread() -> None:
    def work(client: Any) -> None:
        answer = client.chat.completions.create(model="x", messages=[USER], logprobs=True, n=2)
        assert [choice.message.content for choice in answer.choices] == ["84 it is"] * 2
        assert len(answer.choices[0].logprobs.content) == len(ANSWER)
        assert [model.id for model in client.models.list()] == ["policy"]

    assert len(rolled(work, [ANSWER]).parts()) == 2


def test_streams_of_chat_with_a_tool() -> None:
    async def work(client: Any) -> None:
        async with client.chat.completions.stream(model="x", messages=[USER], tools=[ARITHMETIC]) as stream:
            async for _ in stream:
                pass
            first = (await stream.get_final_completion()).choices[0]
        (call,) = first.message.tool_calls
        assert call.function.arguments == '{"expression": "12*7"}'
        message = {"role": "assistant", "tool_calls": [call.model_dump()]}
        result = {"role": "tool", "tool_call_id": call.id, "content": "84"}
        messages = [USER, message, result]
        chunks = await client.chat.completions.create(model="x", messages=messages, tools=[ARITHMETIC], stream=True)
        text = [chunk.choices[0].delta.content or "" async for chunk in chunks]
        assert "".join(text) == "84 it is"

    only(rolled(work))


def test_completions() -> None:
    def work(client: Any) -> None:
        answer = client.completions.create(model="x", prompt="How many?", logprobs=1)
        assert (answer.choices[0].text, answer.usage.completion_tokens) == ("84 it is", len(ANSWER))
        chunks = client.completions.create(model="x", prompt="How many?" + answer.choices[0].text, stream=True)
        texts = [chunk.choices[0].text for chunk in chunks]
        assert (len(texts) > 3, "".join(texts)) == (True, "84 it is")

    rolled(work, [ANSWER])


def test_responses_and_their_streams() -> None:
    async def work(client: Any) -> None:
        items = [USER]
        first = await client.responses.create(model="x", input=items, tools=[FLAT])
        (call,) = first.output
        items += [*first.output, {"type": "function_call_output", "call_id": call.call_id, "output": "84"}]
        async with client.responses.stream(model="x", input=items, tools=[FLAT]) as stream:
            deltas = [event.delta async for event in stream if event.type == "response.output_text.delta"]
            final = await stream.get_final_response()
        assert ("".join(deltas), final.output_text, final.status) == ("84 it is", "84 it is", "completed")

    only(rolled(work))


def test_errors_are_those_of_the_client() -> None:
    async def work(client: Any) -> None:
        create = client.chat.completions.create
        with pytest.raises(openai.BadRequestError, match="response_format"):
            await create(model="x", messages=[USER], response_format={"type": "json_object"})
        with pytest.raises(openai.AuthenticationError):
            await client.with_options(api_key="sk-other").models.list()
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model="x", input="y")
        await create(model="x", messages=[USER])
        with pytest.raises(openai.BadRequestError) as caught:
            await create(model="x", messages=[USER])
        assert caught.value.code == "max_steps_reached"

    rolled(work, ScriptedEngine([ANSWER]), max_steps=1)


def test_a_client_that_raises_at_the_end_of_the_budget_is_no_failure() -> None:
    async def work(client: Any) -> None:
        while True:
            await client.chat.completions.create(model="x", messages=[USER])

    trajectory = rolled(work, [ANSWER], max_steps=2)
    assert (trajectory.finish_reason, trajectory.trajectory_reward, len(trajectory.parts())) == ("max_steps", 0.0, 2)
    assert list(trajectory.prompt_tokens) == list(FORMAT.initial_ids([USER]))
