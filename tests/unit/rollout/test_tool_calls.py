from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.rollout.tool_calls import ParsedCall, as_openai, parse_tool_calls


def test_text_without_calls_is_left_as_it_is() -> None:
    assert parse_tool_calls(" 84\n") == (" 84\n", [])


def test_several_calls_in_a_turn() -> None:
    text = (
        'Let me see.\n<tool_call>\n{"name": "a", "arguments": {"x": "é"}}\n</tool_call>\n'
        '<tool_call>{"name": "b"}</tool_call>'
    )
    assert parse_tool_calls(text) == ("Let me see.", [ParsedCall("a", '{"x": "é"}'), ParsedCall("b", "{}")])


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("{", "not JSON"),
        ("", "not JSON"),
        ('{"name": "a", "arguments": {}} x', "not JSON"),
        ("[1]", 'not an object with a "name"'),
        ('{"arguments": {}}', 'not an object with a "name"'),
        ('{"name": 3}', 'not an object with a "name"'),
        ('{"name": "a", "arguments": "12"}', '"arguments" is not an object'),
        ("[" * 100_000, "not JSON"),
    ],
)
def test_malformed_calls_are_reported_in_their_place(body: str, why: str) -> None:
    text = f'<tool_call>{body}</tool_call><tool_call>{{"name": "good"}}</tool_call>'
    content, (bad, good) = parse_tool_calls(text)
    assert content == ""
    assert good == ParsedCall("good", "{}")
    assert why in bad.error
    assert bad.error.endswith('write <tool_call>{"name": ..., "arguments": {...}}</tool_call>')
    assert len(bad.error) < 600


def test_a_call_that_was_not_closed_is_malformed() -> None:
    _, (call,) = parse_tool_calls('<tool_call>{"name": "a"}')
    assert "</tool_call> is missing" in call.error


def test_the_form_of_a_message() -> None:
    good = as_openai(ParsedCall("a", "{}"), "call_0_0")
    assert good == {"id": "call_0_0", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    assert as_openai(ParsedCall("", "{", "broken"), "c")["error"] == "broken"


VALUES = st.none() | st.booleans() | st.integers() | st.text(max_size=9) | st.lists(st.text(max_size=3), max_size=3)
ARGUMENTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=3)


@given(st.lists(st.tuples(st.text(max_size=9), ARGUMENTS), max_size=3))
def test_calls_that_were_written_are_read(calls: list[tuple[str, dict[str, object]]]) -> None:
    bodies = [json.dumps({"name": name, "arguments": arguments}) for name, arguments in calls]
    text = "".join(f"<tool_call>\n{body}\n</tool_call>" for body in bodies if "</tool_call>" not in body)
    _, parsed = parse_tool_calls(text)
    kept = [call for call, body in zip(calls, bodies, strict=True) if "</tool_call>" not in body]
    assert [(call.name, json.loads(call.arguments)) for call in parsed] == kept


@given(st.text(alphabet='<>/tool_calname{}":, 12') | st.text())
def test_no_text_raises(text: str) -> None:
    parse_tool_calls(f"<tool_call>{text}</tool_call>{text}")
