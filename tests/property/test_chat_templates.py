"""Random conversations with the templates of the field: nothing recorded changes, and every token is learned once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import compress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.agents import Message
from agentic_rl.agents.builtin.math import calculator
from agentic_rl.agents.trajectory import Segment
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.segments import Conversation, Reply
from rollout_doubles import ScriptedEngine, make_task
from template_doubles import END_OF_TURN, model_tokenizer

FIVE = ["qwen2.5", "qwen3", "llama3", "smollm2", "plain"]
FORMATS = {name: ChatFormat(model_tokenizer(name)) for name in FIVE}
SPECIAL = sorted({*END_OF_TURN.values(), "<|im_start|>", "<|start_header_id|>", "<|begin_of_text|>"})
TEXTS = st.lists(st.sampled_from([*SPECIAL, "<think>", "</think>", "<tool_response>", "\n", " "]) | st.text(max_size=5))
CONTENT = TEXTS.map("".join)
THOUGHTS = st.sampled_from(["", "", "<think>\nhm\n</think>\n\n", "<think>\n\n</think>\n\n"])
CALLS = st.lists(st.tuples(st.just("calculator"), st.fixed_dictionaries({"expression": CONTENT})), max_size=2)
FOLLOW_UPS = st.sampled_from(["tool", "tool", "user"]).flatmap(
    lambda role: st.lists(
        CONTENT.map(lambda text: {"role": role, "content": text}), min_size=1, max_size=2 if role == "tool" else 1
    )
)
TURNS = st.lists(st.tuples(THOUGHTS, st.text(max_size=6), CALLS, st.booleans(), FOLLOW_UPS), min_size=1, max_size=4)
OPENINGS = st.tuples(st.none() | CONTENT, CONTENT).map(
    lambda texts: [
        *([{"role": "system", "content": texts[0]}] if texts[0] is not None else []),
        {"role": "user", "content": texts[1]},
    ]
)
LIMITS = Limits(max_prompt_length=99_999, max_response_length=99_999, max_tokens=9999, max_steps=99)


def replies_of(chat_format: ChatFormat, turns: Sequence[Any]) -> list[list[int]]:
    """What the policy writes: its bytes one by one, so that special tokens that it spells are not the tokens."""
    replies = []
    for thought, text, calls, ends, _ in turns:
        written = f"{thought}{text}{chat_format.call_format.write(calls) if calls else ''}" or "."
        ids = [token for letter in written for token in chat_format.encode(letter)]
        replies.append([*ids, chat_format.end_of_turn] if ends else ids)
    return replies


def talk(chat_format: ChatFormat, opening: list[Message], turns: Sequence[Any], options: Any) -> tuple[Any, ...]:
    engine = ScriptedEngine(replies_of(chat_format, turns), max_model_len=99_999)
    model = Conversation(engine, chat_format, LIMITS, make_task(), "session")

    async def run() -> list[Reply]:
        messages, replies = list(opening), []
        for *_, follow_up in turns:
            replies.append(await model.complete(messages, [calculator], chat_template_kwargs=options))
            messages += [replies[-1].message, *follow_up]
        return replies

    return engine, asyncio.run(run()), model.trajectory(1.0)


def written(part: Segment) -> list[int]:
    return list(compress(part.response_tokens, part.response_masks))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", FIVE)
@given(opening=OPENINGS, turns=TURNS, thinking=st.booleans())
def test_any_conversation(name: str, opening: list[Message], turns: Sequence[Any], thinking: bool) -> None:
    chat_format = FORMATS[name]
    options = {"enable_thinking": thinking}
    engine, replies, trajectory = talk(chat_format, opening, turns, options)
    parts = trajectory.parts()
    # Every reply is recorded as it was sampled, in order, and each token in one part only.
    assert [token for part in parts for token in written(part)] == [
        token for reply in replies for token in reply.token_ids
    ]
    sequences = [[*part.prompt_tokens, *part.response_tokens] for part in parts]
    for (asked, _, _), reply, step in zip(engine.calls, replies, trajectory.steps, strict=True):
        assert asked == reply.prompt_ids == list(step.prompt_tokens)
        assert any(whole[: len(asked) + len(reply.token_ids)] == [*asked, *reply.token_ids] for whole in sequences)
    # Only a thought that a user's message follows can begin a part.
    questions = sum(turn[-1][0]["role"] == "user" for turn in turns[:-1])
    thought = any("</think>" in reply.text for reply in replies)
    assert len(parts) <= (1 + questions if name == "qwen3" and thought else 1)


@pytest.mark.parametrize("name", FIVE)
@given(opening=OPENINGS, turns=TURNS)
def test_nobody_speaks_special_tokens_but_template_and_policy(
    name: str, opening: list[Message], turns: Sequence[Any]
) -> None:
    chat_format = FORMATS[name]
    special = set(chat_format.tokenizer.all_special_ids)
    harmless = [{**message, "content": "a"} for message in opening]
    quiet = [(thought, "b", [], ends, [{**one, "content": "a"} for one in more]) for thought, _, _, ends, more in turns]
    if any("</think>" in text or "<tool_response>" in text for text in contents(opening, turns)):
        return  # words of the template's own, by which it may choose other forms
    shown = []
    for first, rest in ((opening, turns), (harmless, quiet)):
        engine, _, _ = talk(chat_format, first, rest, None)
        shown.append([[token for token in asked if token in special] for asked, _, _ in engine.calls])
    assert shown[0] == shown[1]


def contents(opening: list[Message], turns: Sequence[Any]) -> list[str]:
    spoken = [message["content"] for message in [*opening, *(one for turn in turns for one in turn[-1])]]
    return [*spoken, *(text for _, text, _, _, _ in turns), *(str(call) for turn in turns for call in turn[2])]
