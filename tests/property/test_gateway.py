"""Whatever a client sends is read, or refused with a reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.rollout.gateway import chat, completions, responses
from agentic_rl.rollout.gateway.ask import Ask, Choice
from agentic_rl.rollout.gateway.body import IGNORED, NEUTRAL, Body, read_json
from agentic_rl.rollout.gateway.faults import InvalidError
from agentic_rl.rollout.gateway.spelling import Spelling
from rollout_doubles import make_tokenizer, spelled

SPELLING = Spelling(TOKENIZER := make_tokenizer())
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
WORDS = st.sampled_from(
    [
        *("role", "content", "type", "text", "user", "assistant", "tool", "function", "name", "arguments"),
        *("input_text", "output_text", "function_call", "function_call_output", "call_id", "output"),
    ]
)
JSON = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=5),
    max_leaves=12,
)
KEYS = st.sampled_from(
    [
        *("messages", "input", "prompt", "tools", "tool_choice", "stream", "stream_options", "n", "stop", "model"),
        *("max_tokens", "temperature", "seed", "logprobs", "top_logprobs", "include", "instructions"),
        *("chat_template_kwargs", "stop_token_ids", "return_token_ids", "unknown", *NEUTRAL, *sorted(IGNORED)),
    ]
)
ROLES = st.sampled_from(["user", "assistant", "system", "tool", "developer"])
MESSAGES = st.lists(st.fixed_dictionaries({"role": ROLES, "content": st.text(max_size=5) | st.none()}), min_size=1)


def read_or_refused(read: Callable[[Any], Any], given: Any) -> Any:
    """What is read; None where it is refused with a reason."""
    try:
        return read(given)
    except InvalidError as error:
        return None if error.message and error.status == 400 else error


@pytest.mark.parametrize("api", [chat, completions, responses])
@given(body=st.dictionaries(KEYS, JSON, max_size=5), messages=MESSAGES)
def test_every_body_is_read_or_refused(api: Any, body: dict[str, Any], messages: list[Any]) -> None:
    opening = {"messages": messages} if api is chat else {"prompt": "x"} if api is completions else {"input": messages}
    for whole in (body, {**opening, **body}, {**body, **opening}):
        ask = read_or_refused(api.read, Body(whole))
        if ask is not None:
            assert ask.messages or ask.prompt
            json.dumps(ask.options)


@given(st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()))
def test_every_payload_is_an_object_or_refused(payload: bytes) -> None:
    if read_or_refused(read_json, payload) is not None:
        assert isinstance(json.loads(payload), dict)


@pytest.mark.parametrize("api", [chat, responses])
@given(
    text=st.text(max_size=20),
    told=st.integers(0, 20),
    names=st.lists(st.text(max_size=5), max_size=3),
    cut=st.booleans(),
)
def test_a_stream_adds_up_to_the_answer(api: Any, text: str, told: int, names: list[str], cut: bool) -> None:
    calls = [
        {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": "{}"}}
        for place, name in enumerate(names)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    ids = spelled(TOKENIZER, "ab")
    choice = Choice(message, text, ids, [0.0] * len(ids), "length" if cut else "stop", [1, 2])
    ask = Ask("m", True, [], usage_in_stream=True, logprobs=True)
    whole = api.answer(ask, [choice], "1", SPELLING)
    writer = chat.Chunks(ask, "1") if api is chat else responses.stream(ask, "1")
    stream = [*(event for letter in text[:told] for event in writer.text(0, letter)), *writer.end(whole)]
    json.dumps([whole, *stream])
    if api is chat:
        deltas = [one["choices"][0]["delta"] for one in stream if one["choices"]]
        assert "".join(delta.get("content") or "" for delta in deltas) == text
        assert [call["function"]["name"] for delta in deltas for call in delta.get("tool_calls", ())] == names
        assert stream[-1]["usage"] == whole["usage"]
    else:
        assert stream[-1]["response"] == {**whole, "created_at": stream[0]["response"]["created_at"]}
        assert [one["sequence_number"] for one in stream] == list(range(len(stream)))
        assert [one["item"] for one in stream if one["type"] == "response.output_item.done"] == whole["output"]
        assert "".join(one["delta"] for one in stream if one["type"] == "response.output_text.delta") == text
