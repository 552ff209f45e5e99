from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.rollout.call_formats import FORMATS, call_format, format_in
from agentic_rl.rollout.tool_calls import ParsedCall, as_openai, without_thoughts

PROPERTIES = {
    "text": {"type": "string"},
    "count": {"type": "integer"},
    "flag": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
    "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
    "many": {"type": "array", "items": {"type": "number"}},
    "one_of": {"enum": ["1", "2"]},
}
SCHEMAS = [
    {"type": "function", "function": {"name": "find", "parameters": {"type": "object", "properties": PROPERTIES}}},
    {"name": "stop"},
]


def read(name: str, text: str) -> tuple[str, list[ParsedCall]]:
    return FORMATS[name].read(text, SCHEMAS)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize(
    "text", [" 84\n", "", "{}", "[1, 2]", '{"answer": 84}', "[x for x in y]", "f(x)", "no < tags >"]
)
def test_an_answer_is_left_as_it_is(name: str, text: str) -> None:
    assert read(name, text) == (text, [])


TWO = [ParsedCall("find", '{"text": "é", "count": 2}'), ParsedCall("stop", "{}")]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "hermes",
            '<tool_call>\n{"name": "find", "arguments": {"text": "é", "count": 2}}\n</tool_call>\n'
            '<tool_call>{"name": "stop"}</tool_call>',
        ),
        (
            "hermes",
            '<tool_call>[{"name": "find", "arguments": {"text": "\\u00e9", "count": 2}}, {"name": "stop"}]</tool_call>',
        ),
        (
            "qwen3_coder",
            "<tool_call>\n<function=find>\n<parameter=text>\né\n</parameter>\n<parameter=count>\n2\n</parameter>\n"
            "</function>\n</tool_call>\n<tool_call>\n<function=stop>\n</function>\n</tool_call>",
        ),
        (
            "qwen3_coder",
            "<function=find><parameter=text>é</parameter><parameter=count>2</parameter></function></tool_call>"
            "<function=stop></function>",
        ),
        (
            "llama3_json",
            '{"name": "find", "parameters": {"text": "é", "count": 2}}; {"name": "stop", "parameters": {}}',
        ),
        (
            "llama3_json",
            '<|python_tag|>{"name": "find", "parameters": {"text": "é", "count": 2}}\n<|python_tag|>{"name": "stop"}',
        ),
        ("llama3_json", '{"name": "find", "arguments": {"text": "é", "count": 2}}{"name": "stop", "arguments": {}}'),
        ("pythonic", '[find(text="é", count=2), stop()]'),
        ("pythonic", "<|python_start|>[find(text='é', count=2),\n stop()]<|python_end|>"),
    ],
)
def test_several_calls_in_a_turn(name: str, text: str) -> None:
    assert read(name, text) == ("", TWO)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("hermes", '<tool_call>{"name": "stop"}</tool_call>'),
        ("qwen3_coder", "<tool_call><function=stop></function></tool_call>"),
        ("llama3_json", '{"name": "stop", "parameters": {}}'),
    ],
)
def test_text_beside_calls_stays(name: str, call: str) -> None:
    assert read(name, f"Let me see.\n{call}") == ("Let me see.", [ParsedCall("stop", "{}")])


CLOSED = "</tool_call>"
MALFORMED = [
    ("hermes", "<tool_call>{</tool_call>", "not JSON"),
    ("hermes", "<tool_call></tool_call>", "not JSON"),
    ("hermes", '<tool_call>{"name": "a", "arguments": {}} x</tool_call>', "not JSON"),
    ("hermes", '<tool_call>{"name": "a", "arguments": {"x": NaN}}</tool_call>', "NaN is not JSON"),
    ("hermes", "<tool_call>[1]</tool_call>", 'not an object with a "name"'),
    ("hermes", '<tool_call>{"arguments": {}}</tool_call>', 'not an object with a "name"'),
    ("hermes", '<tool_call>{"name": 3}</tool_call>', 'not an object with a "name"'),
    ("hermes", '<tool_call>{"name": "a", "arguments": "12"}</tool_call>', '"arguments" is not an object'),
    ("hermes", "<tool_call>" + "[" * 100_000, "</tool_call> is missing"),
    ("hermes", "<tool_call>" + "[" * 100_000 + CLOSED, "not JSON"),
    ("hermes", '<tool_call>{"name": "a"}', "</tool_call> is missing"),
    ("qwen3_coder", '<tool_call>{"name": "a"}</tool_call>', "not one <function=NAME>"),
    ("qwen3_coder", "<tool_call><function=find>", "not one <function=NAME>"),
    ("qwen3_coder", "<function=find><parameter=text>a</function>", "is not in a <parameter=KEY>"),
    ("qwen3_coder", "<tool_call><function=find>hi</function></tool_call>", "'hi' is not in a <parameter=KEY>"),
    (
        "qwen3_coder",
        "<function=find><parameter=text>a</parameter><parameter=text>b</parameter></function>",
        "text is given twice",
    ),
    ("llama3_json", '{"name": "find", "parameters": {"text": "a"}', "not JSON"),
    ("llama3_json", '{"name": "find", "parameters": []}', '"parameters" is not an object'),
    ("llama3_json", '<|python_tag|>search.call(query="x")', "not JSON"),
    ("llama3_json", "<|python_tag|>[1]", 'not an object with a "name"'),
    ("llama3_json", "<|python_tag|>", "nothing follows the tag"),
    ("pythonic", '[find(text="a"', "was never closed"),
    ("pythonic", '[find("a")]', "an argument has no name"),
    ("pythonic", "[find(**x)]", "an argument has no name"),
    ("pythonic", "[find(text=open('x'))]", "is not a plain value"),
    ("pythonic", "[find(text=b'x')]", "is not a plain value"),
    ("pythonic", "[find(count=1e999)]", "not JSON compliant"),
    ("pythonic", "[find(count={1: 2})]", "a key of an object is not text"),
    ("pythonic", "[find(), 3]", "not a call of a tool"),
    ("pythonic", "[find()] + [1]", "not one list"),
    ("pythonic", "[find(text=" + "[" * 100_000, "nested too deep"),
    ("pythonic", "[find(count=" + "-" * 100_000 + "1)]", "nested too deep"),
    ("pythonic", "[find(count=" + "not " * 100_000 + "1)]", "nested too deep"),
    ("pythonic", "[find(count=a" + ".a" * 100_000 + ")]", "can't be read"),
    ("pythonic", "[find(count=1" + "-1" * 100_000 + ")]", "can't be read"),
]


@pytest.mark.parametrize(("name", "text", "why"), MALFORMED)
def test_a_malformed_call_says_why_and_how_to_write_it(name: str, text: str, why: str) -> None:
    _, calls = read(name, text)
    bad = next(call for call in calls if call.error)
    assert (bad.name, why in bad.error) == ("", True), bad.error
    assert bad.error.endswith(f"write {FORMATS[name].form}")
    assert len(bad.error) < 700


def test_a_malformed_call_does_not_spoil_the_others() -> None:
    for name, good in (
        ("hermes", '<tool_call>{"name": "stop"}</tool_call>'),
        ("qwen3_coder", "<tool_call><function=stop></function></tool_call>"),
    ):
        content, (bad, call) = read(name, "<tool_call>{</tool_call>" + good)
        assert (content, call, bool(bad.error)) == ("", ParsedCall("stop", "{}"), True)
    _, (bad, call) = read("pythonic", "[find(1), stop()]")
    assert (call, bool(bad.error)) == (ParsedCall("stop", "{}"), True)
    _, (call, bad) = read("llama3_json", '{"name": "stop", "parameters": {}} and more')
    assert (call, bool(bad.error)) == (ParsedCall("stop", "{}"), True)


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("text", "2", "2"),
        ("text", "two\nlines ", "two\nlines "),
        ("count", "2", 2),
        ("count", " two", " two"),
        ("flag", "True", True),
        ("flag", "null", None),
        ("either", "2", "2"),
        ("many", "[1, 2.5]", [1, 2.5]),
        ("one_of", "2", "2"),
        ("unknown", "2", "2"),
    ],
)
def test_values_between_tags_become_what_the_schema_says(key: str, value: str, meant: Any) -> None:
    _, (call,) = read("qwen3_coder", f"<function=find><parameter={key}>\n{value}\n</parameter></function>")
    assert json.loads(call.arguments) == {key: meant}


@pytest.mark.parametrize("name", ["llama3_json", "pythonic"])
def test_where_there_are_no_tools_json_and_lists_are_answers(name: str) -> None:
    for text in ('{"name": "a", "parameters": {}}', "[a()]"):
        assert FORMATS[name].read(text, []) == (text, [])


def test_calls_in_thoughts_are_none() -> None:
    call = '<tool_call>{"name": "stop"}</tool_call>'
    assert without_thoughts(f"<think>{call}</think>\n\n{call}") == (f"<think>{call}</think>", f"\n\n{call}")
    assert without_thoughts(f"hm</think>{call}") == ("hm</think>", call)
    assert without_thoughts(f"\n<think>{call}") == (f"\n<think>{call}", "")
    assert without_thoughts(call) == ("", call)


def test_formats_are_found_by_name() -> None:
    assert call_format("pythonic") is FORMATS["pythonic"]
    with pytest.raises(ValueError, match="'pythonik' is unknown; write hermes, qwen3_coder"):
        call_format("pythonik")
    assert format_in("nothing of the kind", "stop").name == "hermes"


def test_the_form_of_a_message() -> None:
    good = as_openai(ParsedCall("a", "{}"), "call_0_0")
    assert good == {"id": "call_0_0", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    assert as_openai(ParsedCall("", "{", "broken"), "c")["error"] == "broken"


NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in {"and", "as", "if", "in", "is", "or", "not", "for", "def", "del", "try", "from", "with"}
)
TEXTS = st.text(max_size=9).filter(lambda text: "tool_call" not in text)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.lists(st.tuples(NAMES, st.dictionaries(NAMES, VALUES, max_size=3)), min_size=1, max_size=3)


@pytest.mark.parametrize("name", ["hermes", "llama3_json", "pythonic"])
@given(CALLS)
def test_calls_that_were_written_are_read(name: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    _, parsed = read(name, FORMATS[name].write(calls))
    assert [(call.name, json.loads(call.arguments), call.error) for call in parsed] == [(*call, "") for call in calls]


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_knows_its_own_writing(name: str) -> None:
    text = FORMATS[name].write([("find", {"text": "a", "count": 2}), ("stop", {})])
    assert format_in(f"user: hi\nassistant: {text}<end>", "find") is FORMATS[name]
    assert format_in(text, "other").name == "hermes"
    assert "[1]" in FORMATS[name].write([("find", "[1]")])


@given(st.dictionaries(NAMES, st.text(alphabet=st.characters(exclude_characters="<"), max_size=20), max_size=3))
def test_text_between_tags_is_read_as_it_was_written(arguments: dict[str, str]) -> None:
    _, (call,) = read("qwen3_coder", FORMATS["qwen3_coder"].write([("other", arguments)]))
    assert json.loads(call.arguments) == arguments


PIECES = ["<tool_call>", CLOSED, "<function=", "</function>", "<parameter=a>", "</parameter>", '{"name": ', "[f(", ")]"]


@given(
    st.lists(st.sampled_from([*PIECES, "<|python_tag|>", '"', "}", ">", "x=", "\\", ";", "\n"]) | st.text(max_size=4))
)
def test_no_reply_raises(pieces: list[str]) -> None:
    for name in FORMATS:
        for text in ("".join(pieces), "<tool_call>" + "".join(pieces), "[f(" + "".join(pieces)):
            content, calls = read(name, text)
            assert isinstance(content, str)
            for call in calls:
                assert call.error or isinstance(json.loads(call.arguments), dict)
