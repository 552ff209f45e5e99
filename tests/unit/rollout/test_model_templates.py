"""Templates that behave as those of models in the field: prompts, tools, calls, results, thinking."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from agentic_rl.agents import Message, Trajectory
from agentic_rl.agents.builtin.math import calculator
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.errors import HistoryRewrittenError
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.recorder import Recorder
from rollout_doubles import ScriptedEngine, make_task
from template_doubles import CALL_FORMATS, END_OF_TURN, model_tokenizer

NAMES = list(END_OF_TURN)
USER: Message = {"role": "user", "content": "What is 12*7?"}
MORE: Message = {"role": "user", "content": "Sure?"}
RESULTS: list[Message] = [{"role": "tool", "tool_call_id": str(place), "content": f"r{place}"} for place in range(2)]
ARGUMENTS = {"expression": "12*7"}
FORMATS = {name: ChatFormat(model_tokenizer(name)) for name in NAMES}
NOT_THINKING = {"enable_thinking": False}


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def prompt(chat_format: ChatFormat, messages: Sequence[Message], tools: Any = None, **options: Any) -> str:
    return chat_format.decode(chat_format.dialog(tools, options or None).prompt_ids(messages))


def roll(chat_format: ChatFormat, replies: Sequence[str], *follow_ups: Sequence[Message], **options: Any) -> Trajectory:
    """A rollout in which the policy writes `replies`."""
    ids = [[*chat_format.encode(reply), chat_format.end_of_turn] for reply in replies]
    limits = Limits(max_prompt_length=4096, max_response_length=4096, max_tokens=999, max_steps=9)
    model = Recorder(ScriptedEngine(ids, max_model_len=9999), chat_format, limits, make_task(), "session")

    async def run() -> None:
        messages = [USER, await model.chat([USER], [calculator], chat_template_kwargs=options or None)]
        for follow_up in follow_ups:
            messages += follow_up
            messages.append(await model.chat(messages, [calculator], chat_template_kwargs=options or None))

    asyncio.run(run())
    assert model.fault is None
    return model.trajectory(1.0)


def test_the_end_of_a_turn_and_the_format_of_calls_are_found(name: str) -> None:
    chat_format = FORMATS[name]
    assert chat_format.decode([chat_format.end_of_turn]) == END_OF_TURN[name]
    assert chat_format.call_format.name == CALL_FORMATS[name]
    chosen = ChatFormat.configured(model_tokenizer(name), tool_parser="pythonic", enable_thinking=None)
    assert chosen.call_format.name == "pythonic"


def test_the_prompt_shows_the_tools_and_the_question(name: str) -> None:
    text = prompt(FORMATS[name], [USER], [calculator])
    assert "calculator" in text
    assert "expression" in text
    assert str(calculator.description) in text
    assert USER["content"] in text


def test_calls_in_the_history_are_shown_as_the_policy_writes_them(name: str) -> None:
    chat_format = FORMATS[name]
    calls = [{"id": "c", "type": "function", "function": {"name": "calculator", "arguments": json.dumps(ARGUMENTS)}}]
    for number in (1, 2):  # some templates know one call in a turn only
        reply = {"role": "assistant", "content": None, "tool_calls": calls * number}
        text = prompt(chat_format, [USER, reply, *RESULTS[:number], MORE], [calculator])
        turns = text[text.rindex(USER["content"]) : text.index("r0")].split(END_OF_TURN[name])
        written = turns[1].rpartition("<|end_header_id|>")[2]
        _, found = chat_format.call_format.read(written, [calculator.schema])
        assert [(call.name, json.loads(call.arguments)) for call in found if not call.error] == [
            ("calculator", ARGUMENTS)
        ] * number


def test_a_rollout_with_two_calls_in_a_turn_is_one_sequence(name: str) -> None:
    chat_format = FORMATS[name]
    call = chat_format.call_format.write([("calculator", ARGUMENTS), ("calculator", ARGUMENTS)])
    trajectory = roll(chat_format, [call, "84"], RESULTS)
    assert trajectory.metrics == {"turns": 2, "tool_calls": 2, "malformed_tool_calls": 0}
    assert trajectory.segments == []
    text = chat_format.decode(trajectory.response_tokens)  # type: ignore[arg-type]
    assert text.startswith(call + END_OF_TURN[name])
    assert text.index("r0") < text.index("r1") < text.index("84", text.index("r1"))
    assert [step.model_response for step in trajectory.steps] == [call, "84"]
    assert (
        list(trajectory.steps[1].prompt_tokens)
        == [*trajectory.prompt_tokens, *trajectory.response_tokens][: -len(trajectory.steps[1].response_tokens)]
    )


def test_a_follow_up_continues_the_text_as_the_template_would(name: str) -> None:
    """The tokens after a reply are those that a template gives to the whole conversation, where it keeps the reply."""
    chat_format = FORMATS[name]
    reply = {"role": "assistant", "content": "84"}
    for follow_up in ([MORE], RESULTS, RESULTS[:1]):
        shown = prompt(chat_format, [USER], [calculator]) + "84"
        suffix = chat_format.decode(chat_format.suffix_ids(follow_up, [calculator]))
        assert shown + suffix == prompt(chat_format, [USER, reply, *follow_up], [calculator])


THOUGHT = "<think>\nlet me see\n</think>\n\n"


@pytest.mark.parametrize("other", [name for name in NAMES if name != "qwen3"])
def test_templates_that_keep_thoughts_keep_the_sequence(other: str) -> None:
    trajectory = roll(FORMATS[other], [f"{THOUGHT}84", "84"], [MORE])
    assert trajectory.segments == []


def test_qwen3_keeps_thoughts_between_tool_results_and_drops_them_at_the_next_question() -> None:
    chat_format = FORMATS["qwen3"]
    call = chat_format.call_format.write([("calculator", ARGUMENTS)])
    assert roll(chat_format, [THOUGHT + call, "84"], RESULTS[:1]).segments == []
    with pytest.raises(HistoryRewrittenError, match="drops the <think> block"):
        chat_format.dialog().suffix_ids([MORE], thoughts=True)
    trajectory = roll(chat_format, [THOUGHT + call, f"{THOUGHT}84", "yes"], RESULTS[:1], [MORE])
    first, second = trajectory.segments
    shown = chat_format.decode(second.prompt_tokens)  # type: ignore[arg-type]
    assert "let me see" in chat_format.decode(first.response_tokens)  # type: ignore[arg-type]
    assert "let me see" not in shown
    assert call in shown
    assert shown.endswith("Sure?<|im_end|>\n<|im_start|>assistant\n")
    assert trajectory.response_tokens == second.response_tokens
    assert sum(sum(part.response_masks) for part in trajectory.segments) == sum(  # type: ignore[arg-type]
        len(step.response_tokens) for step in trajectory.steps
    )


def test_qwen3_without_thinking_stays_one_sequence() -> None:
    chat_format = FORMATS["qwen3"]
    assert prompt(chat_format, [USER], **NOT_THINKING).endswith("assistant\n<think>\n\n</think>\n\n")
    assert not prompt(chat_format, [USER]).endswith("</think>\n\n")
    call = chat_format.call_format.write([("calculator", ARGUMENTS)])
    trajectory = roll(chat_format, [call, "84", "yes"], RESULTS[:1], [MORE], **NOT_THINKING)
    assert trajectory.segments == []
    configured = ChatFormat.configured(model_tokenizer("qwen3"), tool_parser="auto", enable_thinking=False)
    assert roll(configured, [call, "84", "yes"], RESULTS[:1], [MORE]).response_tokens == trajectory.response_tokens


def test_a_call_in_a_thought_is_none() -> None:
    call = FORMATS["qwen3"].call_format.write([("calculator", ARGUMENTS)])
    trajectory = roll(FORMATS["qwen3"], [f"<think>\nmaybe {call}?\n</think>\n\n{call}"])
    assert trajectory.metrics["tool_calls"] == 1
    assert trajectory.chat_completions[-1]["content"] == f"<think>\nmaybe {call}?\n</think>"


def test_a_malformed_call_is_counted_and_answered(name: str) -> None:
    form = FORMATS[name].call_format.form.replace("...", "\x00").replace("NAME", "\x00<")
    trajectory = roll(FORMATS[name], [form.replace("[name(", "[name(1, ")])
    assert (trajectory.metrics["tool_calls"], trajectory.metrics["malformed_tool_calls"]) == (1, 1)
    (call,) = trajectory.chat_completions[-1]["tool_calls"]
    assert call["error"].endswith(f"write {FORMATS[name].call_format.form}")


def test_special_text_of_any_family_stays_text(name: str) -> None:
    chat_format = FORMATS[name]
    special = set(chat_format.tokenizer.all_special_ids)
    hostile = "".join(chat_format.tokenizer.all_special_tokens)

    def specials(text: str) -> list[int]:
        messages = [{**USER, "content": text}, {"role": "assistant", "content": text}, {**RESULTS[0], "content": text}]
        ids = [*chat_format.initial_ids(messages, [calculator]), *chat_format.suffix_ids(messages[2:])]
        return [token for token in ids if token in special]

    assert specials(hostile) == specials("harmless")
