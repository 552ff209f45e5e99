"""Streams of the engine over HTTP: the same tokens as in whole answers, told as they come."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from agentic_rl.rollout.engines.base import Completion, EngineFaultError, SamplingParams
from agentic_rl.rollout.engines.http_engine import HttpEngine
from agentic_rl.rollout.engines.http_faults import ServerFaultError
from agentic_rl.rollout.engines.http_stream import AnswerStream
from fake_vllm import FakeServer
from http_doubles import CALL, PROMPT, SAMPLING, failing, with_servers


class Listener:
    """Keeps what it is told; raises after a number of tokens."""

    def __init__(self, most: int = 99) -> None:
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self._most = most

    def __call__(self, tokens: Sequence[int], logprobs: Sequence[float]) -> None:
        self.tokens += tokens
        self.logprobs += logprobs
        if len(self.tokens) >= self._most:
            raise KeyError("enough")


@pytest.mark.parametrize(
    "faults",
    [
        [],
        ["500"],
        ["reset", "429"],
        ["garbage", "other ids"],
        ['{"logprobs": {"token_logprobs": [2.0, -1, -1]}}'],
        ['{"token_ids": []}', '{"token_ids": null}'],
        ["hang", "not http"],
    ],
)
def test_a_stream_has_the_tokens_of_the_whole_answer(faults: list[str]) -> None:
    server = FakeServer(plan=failing(*faults))
    told = Listener()

    async def body(engine: HttpEngine) -> Completion:
        completion = await engine.generate(PROMPT, SAMPLING, on_tokens=told)
        assert engine.servers[0].in_flight == 0
        return completion

    completion = with_servers(server)(body)
    assert (completion.tokens, completion.finish_reason) == (CALL.tokens, "stop")
    assert (told.tokens, told.logprobs) == (completion.tokens, completion.logprobs)


def test_a_try_that_fails_within_the_answer_is_gone_on_with_from_there() -> None:
    server = FakeServer(plan=failing("half"), call=(5, 6, 7, 8), logprob=0.0)
    told = Listener()

    async def body(engine: HttpEngine) -> None:
        await engine.generate(PROMPT, SAMPLING, on_tokens=told)

    with_servers(server)(body)
    first, second = (json.loads(request) for request in server.requests[1:3])
    come = second["prompt"][len(PROMPT) :]
    assert 0 < len(come) < 4
    assert come == [5, 6, 7, 8][: len(come)] == told.tokens[: len(come)]
    assert second["max_tokens"] == first["max_tokens"] - len(come)
    assert second["seed"] != first["seed"]


def test_who_wants_no_more_ends_the_request_and_not_the_server() -> None:
    server = FakeServer()

    async def body(engine: HttpEngine) -> None:
        with pytest.raises(KeyError, match="enough"):
            await engine.generate(PROMPT, SAMPLING, on_tokens=Listener(2))
        assert engine.servers[0].faults == 0
        assert await engine.generate(PROMPT, SAMPLING) == CALL

    with_servers(server)(body)


def test_a_stream_that_never_works_ends_with_the_last_cause() -> None:
    async def body(engine: HttpEngine) -> None:
        with pytest.raises(EngineFaultError, match=r"3 tries failed, .*another prompt"):
            await engine.generate(PROMPT, SAMPLING, on_tokens=Listener())

    with_servers(FakeServer(plan=failing(*["other ids"] * 9)), tries=3)(body)


def event(**choice: object) -> bytes:
    one = {"token_ids": [], "logprobs": None, "finish_reason": None, **choice}
    return f"data: {json.dumps({'choices': [one]})}\n\n".encode()


def first(token: int, **more: object) -> bytes:
    return event(token_ids=[token], logprobs={"token_logprobs": [-1.0]}, prompt_token_ids=PROMPT, **more)


def test_bytes_may_come_in_any_pieces() -> None:
    told = Listener()
    stream = AnswerStream(PROMPT, SAMPLING, told)
    whole = b": a comment\r\n\r\n" + first(5) + first(6) + event(finish_reason="length") + b"data: [DONE]\n\n"
    for place in range(len(whole)):
        stream.feed(whole[place : place + 1])
    assert stream.completion() == Completion([5, 6], [-1.0, -1.0], "length")
    assert told.tokens == [5, 6]


def test_a_last_token_that_has_come_needs_no_other_try() -> None:
    stream = AnswerStream(PROMPT, SamplingParams(2, stop_token_ids=(9,)), Listener())
    stream.feed(first(9))
    assert stream.ended
    assert stream.completion().finish_reason == "stop"


@pytest.mark.parametrize(
    "data",
    [b"data: {}\n", b"data: [1\n", b'data: {"error": {"message": "broken"}}\n', event(token_ids=[5], logprobs=None)],
)
def test_senseless_events_are_faults(data: bytes) -> None:
    with pytest.raises(ServerFaultError):
        AnswerStream(PROMPT, SAMPLING, Listener()).feed(data)


def test_more_tokens_than_asked_for_are_a_fault() -> None:
    stream = AnswerStream(PROMPT, SamplingParams(1), Listener())
    stream.feed(first(5))
    with pytest.raises(ServerFaultError, match="too many tokens"):
        stream.feed(first(6))
