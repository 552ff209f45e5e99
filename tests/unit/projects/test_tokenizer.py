from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from agentic_rl.agents.tools.calculator import calculator
from agentic_rl.projects.quickstart.problems import every_text
from agentic_rl.projects.quickstart.tokenizer import END, START, build_tokenizer

TOKENIZER = build_tokenizer(every_text())
SCHEMAS = [calculator.schema]
Message = dict[str, Any]


def ids(text: str) -> list[int]:
    return list(TOKENIZER(text)["input_ids"])


def pieces(text: str) -> list[str]:
    return [TOKENIZER.decode([token]) for token in ids(text)]


def render(messages: list[Message], *, generation_prompt: bool = False) -> str:
    return str(
        TOKENIZER.apply_chat_template(messages, tools=SCHEMAS, add_generation_prompt=generation_prompt, tokenize=False)
    )


def call(expression: str) -> Message:
    function = {"name": "calculator", "arguments": {"expression": expression}}
    return {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": function}]}


QUESTION: Message = {"role": "user", "content": "Ana has 12 bags of 8 pens. How many pens now?"}
CONVERSATION = [
    QUESTION,
    call("12*8"),
    {"role": "tool", "content": "96"},
    {"role": "assistant", "content": "\\boxed{96}"},
]


@given(st.text())
def test_any_text_survives_the_round_trip(text: str) -> None:
    assert TOKENIZER.decode(ids(text)) == text


@given(
    st.lists(st.sampled_from([START, END, "\n", " ", "12", "7", "calculator(", "Ana has ", "é", '"}}'])).map("".join)
)
def test_chat_text_survives_the_round_trip(text: str) -> None:
    assert TOKENIZER.decode(ids(text)) == text


@given(st.text(), st.text())
def test_no_token_spans_the_end_of_a_turn(before: str, after: str) -> None:
    assert ids(before + END + "\n" + after)[: len(ids(before + END))] == ids(before + END)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("has 12 bags", ["has ", "12", " bags"]),
        ("1234", ["12", "34"]),
        ("12*7", ["12", "*", "7"]),
        ("\\boxed{96}", ["\\boxed{", "96", "}"]),
        ("zebra", list("zebra")),
    ],
)
def test_numbers_and_known_words_are_one_token(text: str, expected: list[str]) -> None:
    vocabulary = build_tokenizer(["Ana has 12 bags", "has 7"])
    assert [vocabulary.decode([token]) for token in vocabulary(text)["input_ids"]] == expected


def test_a_number_is_the_same_token_in_question_call_and_result() -> None:
    rendered = pieces(render(CONVERSATION))
    assert rendered.count("12") == 2
    assert rendered.count("8") == 2
    assert rendered.count("96") == 2


def test_a_question_has_one_token_for_each_word_number_and_mark(project: Path) -> None:
    rows = pq.read_table(project / "data" / "test.parquet").to_pylist()
    for question in (row["prompt"][0]["content"] for row in rows):
        assert len(ids(question)) == len(re.findall(r"[A-Za-z]+|[0-9]+|[.?]", question))


def test_the_longest_prompt_fits_the_configuration(project: Path) -> None:
    rows = pq.read_table(project / "data" / "train.parquet").to_pylist()
    assert max(len(ids(render(row["prompt"], generation_prompt=True))) for row in rows) <= 32


def test_the_calculator_costs_one_token_of_the_prompt() -> None:
    """The real schema goes through the template, which shows name and arguments; that line is one token."""
    assert pieces(render([QUESTION]))[:6] == [START, "system\n", "# Tools\ncalculator(expression)", END, "\n", START]


def test_the_template_renders_every_role() -> None:
    system = {"role": "system", "content": "Be brief."}
    assert render([system, *CONVERSATION]) == (
        "<|im_start|>system\nBe brief.\n\n# Tools\ncalculator(expression)<|im_end|>\n"
        "<|im_start|>user\nAna has 12 bags of 8 pens. How many pens now?<|im_end|>\n"
        '<|im_start|>assistant\n<tool_call>\n{"name": "calculator", "arguments": {"expression": "12*8"}}\n</tool_call>'
        "<|im_end|>\n"
        "<|im_start|>tool\n96<|im_end|>\n"
        "<|im_start|>assistant\n\\boxed{96}<|im_end|>\n"
    )


def test_without_tools_and_system_message_there_is_no_system_turn() -> None:
    rendered = TOKENIZER.apply_chat_template([QUESTION], tokenize=False, add_generation_prompt=True)
    assert rendered == f"<|im_start|>user\n{QUESTION['content']}<|im_end|>\n<|im_start|>assistant\n"


def test_arguments_may_be_json_text_and_calls_may_follow_text() -> None:
    written = call("1+2")
    written["tool_calls"][0]["function"]["arguments"] = '{"expression": "1+2"}'
    written["content"] = "Let me see."
    written["tool_calls"] *= 2
    one = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "1+2"}}\n</tool_call>'
    assert render([QUESTION, written]).endswith(f"assistant\nLet me see.\n{one}\n{one}<|im_end|>\n")


def test_every_rendered_beginning_stays_as_it_was() -> None:
    rendered = [render(CONVERSATION[:length]) for length in range(1, len(CONVERSATION) + 1)]
    for shorter, longer in pairwise(rendered):
        assert longer.startswith(shorter)
        assert ids(longer)[: len(ids(shorter))] == ids(shorter)
    assert rendered[1].startswith(render([QUESTION], generation_prompt=True))


def test_the_saved_tokenizer_is_the_same(project: Path) -> None:
    loaded = AutoTokenizer.from_pretrained(project / "model")
    text = render(CONVERSATION) + " and ünknown 12345 words"
    assert loaded(text)["input_ids"] == ids(text)
    assert loaded.apply_chat_template(CONVERSATION, tools=SCHEMAS, tokenize=False) == render(CONVERSATION)
    assert (loaded.eos_token, loaded.pad_token) == (END, "<|endoftext|>")
