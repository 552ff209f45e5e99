"""What a stream tells is the beginning of what the whole reply says, for every format of calls and every cut."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.rollout.call_formats import FORMATS
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.decoding import TextStream
from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.reply_stream import ReplyStream
from agentic_rl.rollout.stops import text_before_stop
from rollout_doubles import ScriptedEngine, make_tokenizer

TOKENIZER = make_tokenizer()
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CHATS = {name: ChatFormat(TOKENIZER, tool_parser=name) for name in FORMATS}
PARTS = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<tool", "_call>", '{"name": "f", "arguments": {}}', '{"name"', ': "f"', "{"),
        *("<function=f>", "</function>", "<function", "<parameter=a>", "</parameter>", "<|python_tag|>", "<|python"),
        *(
            "[f(a=1)]",
            "[f",
            "(",
            ")]",
            "[",
            "<think>",
            "</think>",
            "</th",
            " ",
            "\n",
            ";",
            "STOP",
            "ST",
            "OP",
            "é",
            "€",
        ),
        '{"name": "f", "parameters": {}}',
    ]
)
TEXTS = st.lists(PARTS | st.text(max_size=4), max_size=9).map("".join)


def told(chat_format: ChatFormat, text: str, tools: list[dict[str, object]], stop: list[str]) -> tuple[str, str, str]:
    """What is told of a reply whose bytes come one by one, its content, and all that it says."""
    ids = [token for letter in text for token in chat_format.encode(letter)]
    dialog = chat_format.dialog(tools)
    deltas: list[str] = []
    stream = ReplyStream(chat_format, stop, deltas.append, dialog.settled)
    engine = ScriptedEngine([[*ids, chat_format.end_of_turn]], max_model_len=99_999)
    completion = asyncio.run(stream.generate(engine, [1], SamplingParams(9999, stop_token_ids=chat_format.stop_ids)))
    assert all(deltas)
    written = text_before_stop(chat_format.text(completion.tokens), stop)
    return "".join(deltas), dialog.read(written)[0], written


@pytest.mark.parametrize("name", FORMATS)
@given(text=TEXTS, stop=st.lists(st.sampled_from(["STOP", "OP>", "\n", "é"]), max_size=2), tools=st.booleans())
def test_what_is_told_is_the_beginning_of_the_content(name: str, text: str, stop: list[str], tools: bool) -> None:
    said, content, written = told(CHATS[name], text, [TOOL] if tools else [], stop)
    assert content.startswith(said)
    assert written == text_before_stop(text, stop)


@pytest.mark.parametrize("name", FORMATS)
@given(text=st.lists(st.sampled_from(["a", "é", "€", "𝄞", " ", "1", "2"])).map("".join))
def test_plain_text_is_told_to_its_last_word(name: str, text: str) -> None:
    said, content, _ = told(CHATS[name], text, [TOOL], [])
    assert content == text
    assert said == text.rstrip()


@given(st.lists(st.integers(0, len(TOKENIZER) - 1), max_size=30), st.integers(1, 4))
def test_text_of_a_stream_is_that_of_its_tokens(tokens: list[int], step: int) -> None:
    decode = CHATS["hermes"].decode
    stream = TextStream(decode)
    for place in range(0, len(tokens), step):
        stream.add(tokens[place : place + step])
        assert decode(tokens).startswith(stream.text)
    whole = decode(tokens)
    assert stream.text == whole or whole.endswith("\ufffd")
