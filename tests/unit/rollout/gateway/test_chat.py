"""Chat completions through the gateway: what clients get, and what is recorded."""

from __future__ import annotations

from itertools import compress
from typing import Any

import pytest

from agentic_rl.agents.trajectory import Segment
from gateway_doubles import ANSWER, ARITHMETIC, CALL, FORMAT, Client, visit
from rollout_doubles import ScriptedEngine, spelled

USER = {"role": "user", "content": "How many?"}
RESULT = {"role": "tool", "tool_call_id": "call_0_0", "content": "84"}


def written(segment: Segment) -> list[int]:
    return list(compress(segment.response_tokens, segment.response_masks))  # type: ignore[arg-type]


def test_a_conversation_with_a_tool_is_recorded_as_one_sequence() -> None:
    seen: list[dict[str, Any]] = []

    async def work(client: Client) -> None:
        messages: list[Any] = [USER]
        seen.append(await client.chat(messages, tools=[ARITHMETIC]))
        messages += [seen[0]["choices"][0]["message"], RESULT]
        seen.append(await client.chat(messages, tools=[ARITHMETIC]))

    trajectory = visit(work)
    assert (trajectory.error, trajectory.trajectory_reward, len(trajectory.parts())) == ("", 1.0, 1)
    (part,) = trajectory.parts()
    assert written(part) == CALL + ANSWER
    assert list(part.prompt_tokens) == list(FORMAT.initial_ids([USER], [ARITHMETIC]))
    shown = [logprob for logprob in part.response_logprobs if logprob]
    assert shown == [-0.001 * (place + 1) for reply in (CALL, ANSWER) for place in range(len(reply))]
    first, second = (answer["choices"][0] for answer in seen)
    assert (first["finish_reason"], second["finish_reason"]) == ("tool_calls", "stop")
    assert first["message"]["content"] is None
    (call,) = first["message"]["tool_calls"]
    assert call["function"] == {"name": "calculator", "arguments": '{"expression": "12*7"}'}
    assert second["message"]["content"] == "84 it is"
    assert seen[1]["usage"] == {
        "prompt_tokens": len(part.prompt_tokens) + len(CALL) + len(FORMAT.suffix_ids([RESULT], [ARITHMETIC])) - 1,
        "completion_tokens": len(ANSWER),
        "total_tokens": len(part.prompt_tokens) + len(part.response_tokens),
    }


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ([{"type": "text", "text": "How "}, {"type": "text", "text": "many?"}], "How many?"),
        (None, ""),
        ("\ud800 half a pair", "\ud800 half a pair"),
    ],
)
def test_texts_of_every_form_are_shown(content: Any, expected: str) -> None:
    async def work(client: Client) -> None:
        await client.chat([{"role": "developer", "content": content}])

    trajectory = visit(work, [ANSWER])
    assert list(trajectory.prompt_tokens) == list(FORMAT.initial_ids([{"role": "system", "content": expected}]))


def test_an_edited_history_is_a_segment_of_its_own() -> None:
    async def work(client: Client) -> None:
        await client.chat([USER])
        await client.chat([USER, {"role": "assistant", "content": "I never said that"}, USER])

    parts = visit(work, [ANSWER]).parts()
    assert [written(part) for part in parts] == [ANSWER, ANSWER]


def test_n_answers_differ_in_their_seeds_and_are_segments() -> None:
    async def work(client: Client) -> None:
        answer = await client.chat([USER], n=3)
        assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
        assert answer["usage"]["completion_tokens"] == 3 * len(ANSWER)

    engine = ScriptedEngine([ANSWER])
    assert len(visit(work, engine).parts()) == 3
    assert len({sampling.seed for _, sampling, _ in engine.calls}) == 3


def test_what_a_call_may_choose_reaches_the_engine() -> None:
    async def work(client: Client) -> None:
        await client.chat(
            [USER], max_completion_tokens=7, temperature=0.5, top_p=0.9, top_k=3, min_p=0.1, seed=1, stop_token_ids=[5]
        )
        await client.chat([USER], max_tokens=6, seed=2)

    engine = ScriptedEngine([ANSWER])
    visit(work, engine)
    first, second = (sampling for _, sampling, _ in engine.calls)
    chosen = (first.max_tokens, first.temperature, first.top_p, first.top_k, first.min_p)
    assert chosen == (7, 0.5, 0.9, 3, 0.1)
    assert (5 in first.stop_token_ids, second.max_tokens, second.temperature) == (True, 6, 1.0)
    assert first.seed != second.seed


def test_a_stop_string_ends_answer_and_record() -> None:
    async def work(client: Client) -> None:
        (choice,) = (await client.chat([USER], stop=" it"))["choices"]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("84", "stop")

    assert written(visit(work, [ANSWER]).parts()[0]) == spelled(FORMAT.tokenizer, "84 it", end=False)


def test_log_probabilities_and_ids_come_when_asked_for() -> None:
    async def work(client: Client) -> None:
        plain = (await client.chat([USER]))["choices"][0]
        assert (plain["logprobs"], "token_ids" in plain) == (None, False)
        answer = await client.chat([USER], logprobs=True, top_logprobs=0, return_token_ids=True)
        (choice,) = answer["choices"]
        assert choice["token_ids"] == ANSWER
        assert answer["prompt_token_ids"] == list(FORMAT.initial_ids([USER]))
        first, *rest = choice["logprobs"]["content"]
        assert first == {"token": "8", "logprob": -0.001, "bytes": [56], "top_logprobs": []}
        assert len(rest) == len(ANSWER) - 1

    visit(work, [ANSWER])


def test_a_stream_says_the_same_as_a_whole_answer() -> None:
    async def work(client: Client) -> None:
        whole = (await client.chat([USER], tools=[ARITHMETIC]))["choices"][0]
        options = {"include_usage": True}
        chunks = await client.stream(
            "chat/completions", messages=[USER], tools=[ARITHMETIC], stream_options=options, logprobs=True
        )
        assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
        assert len({chunk["id"] for chunk in chunks}) == 1
        *pieces, last, usage = chunks
        deltas = [piece["choices"][0]["delta"] for piece in pieces]
        assert deltas[0] == {"role": "assistant", "content": ""}
        (call,) = [call for delta in deltas for call in delta.get("tool_calls", ())]
        assert call["function"] == whole["message"]["tool_calls"][0]["function"]
        assert (call["index"], last["choices"][0]["finish_reason"]) == (0, "tool_calls")
        assert len(last["choices"][0]["logprobs"]["content"]) == usage["usage"]["completion_tokens"] == len(CALL)
        text = await client.stream("chat/completions", messages=[USER, {"role": "user", "content": "?"}])
        first, *contents, last = [chunk["choices"][0]["delta"].get("content") for chunk in text]
        assert (first, "".join(contents), last) == ("", "84 it is", None)

    visit(work, [CALL, CALL, ANSWER])


def test_no_tools_are_shown_where_none_may_be_called() -> None:
    async def work(client: Client) -> None:
        await client.chat([USER], tools=[ARITHMETIC], tool_choice="none")

    assert list(visit(work, [ANSWER]).prompt_tokens) == list(FORMAT.initial_ids([USER]))


def test_a_malformed_call_is_told_and_counted() -> None:
    async def work(client: Client) -> None:
        (choice,) = (await client.chat([USER], tools=[ARITHMETIC]))["choices"]
        (call,) = choice["message"]["tool_calls"]
        assert call["error"]

    garbage = spelled(FORMAT.tokenizer, "<tool_call>{not JSON}</tool_call>")
    assert visit(work, [garbage]).metrics["malformed_tool_calls"] == 1


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [3]}, "messages[0]"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": 1}}]}]}, "messages[0].tool_calls[0]"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function", "function": {}}]}, "tools[0]"),
        ({"tool_choice": {"type": "function", "function": {"name": "f"}}}, "tool_choice"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"frequency_penalty": 0.5}, "frequency_penalty"),
        ({"logit_bias": {"5": 100}}, "logit_bias"),
        ({"parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"reasoning_effort": "high"}, "reasoning_effort"),
        ({"temprature": 0.5}, "temprature"),
        ({"temperature": "hot"}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"max_tokens": 0}, "max_completion_tokens"),
        ({"n": 0}, "n"),
        ({"stop": [""]}, "stop"),
        ({"top_logprobs": 3}, "top_logprobs"),
        ({"stop_token_ids": ["a"]}, "stop_token_ids"),
        ({"stream": "yes"}, "stream"),
        ({"stream_options": {"what": 1}}, "what"),
    ],
)
def test_what_can_not_be_followed_is_refused(body: dict[str, Any], param: str) -> None:
    async def work(client: Client) -> None:
        status, error = await client.refusal("chat/completions", **{"messages": [USER], **body})
        assert (status, error["param"], error["type"]) == (400, param, "invalid_request_error")
        assert error["message"]

    engine = ScriptedEngine([ANSWER])
    visit(work, engine)
    assert engine.calls == []


@pytest.mark.parametrize(
    "body",
    [
        {"frequency_penalty": 0.0, "presence_penalty": 0, "logit_bias": {}, "response_format": {"type": "text"}},
        {"user": "me", "store": False, "metadata": {"a": "b"}, "service_tier": "auto", "prompt_cache_key": "k"},
        {"parallel_tool_calls": True, "tool_choice": "required", "reasoning_effort": None, "n": None},
    ],
)
def test_what_changes_nothing_is_accepted(body: dict[str, Any]) -> None:
    async def work(client: Client) -> None:
        await client.chat([USER], **body)

    visit(work, [ANSWER])
