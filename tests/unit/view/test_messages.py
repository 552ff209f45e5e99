from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.view.messages import BRIEF, Limits, searchable, shown_messages

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["role", "content", "tool_calls", "name", "reasoning_content", "function", "arguments"])
ALL = Limits()
MESSAGES = JSON | st.lists(st.dictionaries(NAMES, JSON | st.lists(st.dictionaries(NAMES, JSON))))


def shown(message: Any, limits: Limits = ALL) -> dict[str, Any]:
    (only,) = shown_messages([message], limits)
    return only


def test_a_message_with_a_tool_call() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call], "reasoning_content": "hm"}
    assert shown(message) == {
        "role": "assistant",
        "text": "",
        "reasoning": "hm",
        "calls": [{"name": "add", "arguments": '{"a": 1}'}],
    }


def test_a_content_of_parts() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {"url": "u"}}, "it"]
    assert shown({"role": "user", "content": parts})["text"] == (
        'see\n{"type": "image_url", "image_url": {"url": "u"}}\nit'
    )


@pytest.mark.parametrize("call", [3, "x", {"function": "x"}, {"name": "n", "arguments": {"k": 1}}, {}])
def test_a_call_of_another_form_is_shown_as_far_as_it_goes(call: Any) -> None:
    (only,) = shown({"role": "assistant", "tool_calls": [call]})["calls"]
    assert set(only) == {"name", "arguments"}


def test_a_long_text_is_cut_and_says_how_long_it_is() -> None:
    message = shown({"role": "tool", "content": "x" * 1_000_000}, BRIEF)
    assert (len(message["text"]), message["letters"]) == (BRIEF.letters, 1_000_000)
    assert "letters" not in shown({"role": "tool", "content": "x" * 1_000_000})


@given(MESSAGES, st.sampled_from([BRIEF, Limits(letters=1), Limits()]))
def test_whatever_an_agent_leaves_there_can_be_shown_and_searched(messages: Any, limits: Limits) -> None:
    for message in json.loads(json.dumps(shown_messages(messages, limits))):
        assert isinstance(message["text"], str)
        assert isinstance(message["role"], str)
        assert message["role"]
    assert searchable(messages, "broke").startswith("broke")


def test_everything_that_is_shown_can_be_found() -> None:
    call = {"function": {"name": "add", "arguments": '{"a": 1}'}}
    messages = [{"role": "assistant", "content": "text", "reasoning": "why", "tool_calls": [call]}]
    assert searchable(messages, "") == 'text\nwhy\nadd\n{"a": 1}'
