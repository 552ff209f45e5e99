"""Streams while the policy writes: what is sent, what is held back, and what goes wrong in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from agentic_rl.rollout.engines.base import Completion, EngineFaultError, OnTokens, SamplingParams
from agentic_rl.rollout.gateway.listener import Listener
from gateway_doubles import ANSWER, ARITHMETIC, CALL, FORMAT, Client, visit
from rollout_doubles import ScriptedEngine, as_sampled, call_text, spelled

BODIES: dict[str, dict[str, Any]] = {
    "chat/completions": {"messages": [{"role": "user", "content": "How many?"}]},
    "completions": {"prompt": "How many?"},
    "responses": {"input": "How many?"},
}


class Stepwise(ScriptedEngine):
    """An engine that makes a token whenever it is let."""

    def __init__(self, reply: Sequence[int], fault: Exception | None = None) -> None:
        super().__init__([reply])
        self.allowed = asyncio.Semaphore(0)
        self.cancelled = 0
        self._fault = fault

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        completion = await super().generate(prompt, sampling, session=session)
        try:
            for token, logprob in zip(completion.tokens, completion.logprobs, strict=True):
                await self.allowed.acquire()
                if self._fault is not None and token == completion.tokens[-1]:
                    raise self._fault
                if on_tokens is not None:
                    on_tokens([token], [logprob])
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return completion

    def let(self, tokens: int) -> None:
        for _ in range(tokens):
            self.allowed.release()


@asynccontextmanager
async def streaming(client: Client, path: str, **body: Any) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """The events of a stream as they come."""

    async def events(response: aiohttp.ClientResponse) -> AsyncIterator[dict[str, Any]]:
        async for line in response.content:
            if line.startswith(b"data: ") and b"[DONE]" not in line:
                yield json.loads(line[6:])

    headers = {"Authorization": f"Bearer {client.model.api_key}"}
    whole = {**BODIES[path], **body, "stream": True}
    url = f"{client.model.base_url}/{path}"
    async with aiohttp.ClientSession() as session, session.post(url, json=whole, headers=headers) as response:
        assert (response.status, response.content_type) == (200, "text/event-stream")
        yield events(response)


def text_in(event: dict[str, Any]) -> str:
    """What an event of any of the APIs adds to the text."""
    if event.get("type", "").startswith("response"):
        return event["delta"] if event["type"] == "response.output_text.delta" else ""
    choice = event["choices"][0]
    return choice["text"] if "text" in choice else choice["delta"].get("content") or ""


async def texts(client: Client, path: str, **body: Any) -> list[str]:
    return [text for event in await client.stream(path, **BODIES[path], **body) if (text := text_in(event))]


@pytest.mark.parametrize("path", BODIES)
def test_text_is_sent_before_the_policy_has_ended(path: str) -> None:
    engine = Stepwise(ANSWER)

    async def work(client: Client) -> None:
        engine.let(4)
        read = ""
        async with streaming(client, path) as events:
            while len(read) < 2:
                read += text_in(await anext(events))
            assert "84 it is".startswith(read)
            engine.let(99)
            async for event in events:
                read += text_in(event)
        assert read == "84 it is"

    trajectory = visit(work, engine)
    assert list(trajectory.response_tokens) == ANSWER


@pytest.mark.parametrize("path", BODIES)
def test_what_follows_a_stop_string_is_neither_sent_nor_made(path: str) -> None:
    async def work(client: Client) -> None:
        assert "".join(await texts(client, path, stop=["it"])) == "84 "

    engine = ScriptedEngine([ANSWER])
    trajectory = visit(work, engine)
    assert list(trajectory.response_tokens) == ANSWER[: len("84 it")]


def test_calls_of_tools_are_held_back_until_they_are_whole() -> None:
    said = "Let me see: 1 < 2 <tool"
    reply = spelled(FORMAT.tokenizer, f"{said}\n{call_text('12*7')}\nbye")

    async def work(client: Client) -> None:
        for path in ("chat/completions", "responses"):
            tools = [ARITHMETIC if path.startswith("chat") else {"type": "function", **ARITHMETIC["function"]}]
            events = await client.stream(path, **BODIES[path], tools=tools)
            sent = [text for event in events if (text := text_in(event))]
            assert (len(sent) > 3, "".join(sent[:-1])) == (True, said)
            assert "<tool_call>" not in json.dumps(events[:-1])

    visit(work, [reply])


def test_a_streamed_message_continues_its_own_tokens() -> None:
    reply = spelled(FORMAT.tokenizer, f"  Let me see.\n\n{call_text('12*7')}\n")

    async def work(client: Client) -> None:
        messages: list[dict[str, Any]] = list(BODIES["chat/completions"]["messages"])
        chunks = await client.stream("chat/completions", messages=messages, tools=[ARITHMETIC])
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        content = "".join(delta.get("content") or "" for delta in deltas)
        calls = [call for delta in deltas for call in delta.get("tool_calls", ())]
        messages.append({"role": "assistant", "content": content, "tool_calls": calls})
        messages.append({"role": "tool", "tool_call_id": calls[0]["id"], "content": "84"})
        await client.chat(messages, tools=[ARITHMETIC])

    trajectory = visit(work, [reply, ANSWER])
    assert len(trajectory.parts()) == 1
    assert list(trajectory.response_tokens[: len(reply)]) == reply


def test_several_answers_are_streamed_side_by_side() -> None:
    async def work(client: Client) -> None:
        chunks = await client.stream("chat/completions", **BODIES["chat/completions"], n=2)
        for place in (0, 1):
            mine = [choice for chunk in chunks for choice in chunk["choices"] if choice["index"] == place]
            assert "".join(choice["delta"].get("content") or "" for choice in mine) == "84 it is"
            assert mine[-1]["finish_reason"] == "stop"
        places = [chunk["choices"][0]["index"] for chunk in chunks]
        assert places != sorted(places)

    visit(work, [ANSWER])


@pytest.mark.parametrize("path", BODIES)
def test_a_fault_within_a_stream_is_its_last_event(path: str) -> None:
    engine = Stepwise(ANSWER, EngineFaultError("no power"))
    engine.let(99)

    async def work(client: Client) -> None:
        async with streaming(client, path) as events:
            *before, last = [event async for event in events]
        assert before
        assert (last["error"]["code"], "no power" in last["error"]["message"]) == ("policy_failed", True)
        assert "type" not in last or last["type"] == "error"

    assert visit(work, engine).metrics["turns"] == 0


@pytest.mark.parametrize("path", BODIES)
def test_a_fault_before_a_stream_has_a_status(path: str) -> None:
    def script(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
        if turn == 0:
            raise EngineFaultError("no power")
        return as_sampled(CALL, sampling)

    async def work(client: Client) -> None:
        assert (await client.refusal(path, **BODIES[path], stream=True))[0] == 500
        await client.stream(path, **BODIES[path])

    assert visit(work, ScriptedEngine(script)).metrics["turns"] == 1


def test_a_client_that_leaves_within_a_stream_leaves_nothing_behind() -> None:
    engine = Stepwise(ANSWER)

    async def work(client: Client) -> None:
        engine.let(4)
        async with streaming(client, "chat/completions") as events:
            await anext(events)
        while not engine.cancelled:
            await asyncio.sleep(0.01)
        engine.let(99)
        await client.chat(BODIES["chat/completions"]["messages"])

    trajectory = visit(work, engine)
    assert (trajectory.metrics["turns"], list(trajectory.response_tokens)) == (1, ANSWER)


def test_a_client_that_is_gone_when_a_stream_begins_ends_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """However the sending fails, the engine does not write on for nobody."""
    closed: list[object] = []
    respond: Callable[..., Any] = Listener._respond

    async def failing(self: Listener, request: Any) -> Any:
        async def prepare(*args: Any) -> None:
            raise ConnectionResetError("gone")

        monkeypatch.setattr(aiohttp.web.StreamResponse, "prepare", prepare)
        try:
            return await respond(self, request)
        except ConnectionResetError as error:
            closed.append(error)
            raise

    engine = Stepwise(ANSWER)

    async def work(client: Client) -> None:
        engine.let(4)
        monkeypatch.setattr(Listener, "_respond", failing)
        with pytest.raises(aiohttp.ClientError):
            await client.stream("chat/completions", **BODIES["chat/completions"])
        while not engine.cancelled:
            await asyncio.sleep(0.01)

    visit(work, engine)
    assert closed
