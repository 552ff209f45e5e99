"""Token-exactness, budgets and misuse of the model that an agent talks to."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from agentic_rl.agents import (
    BudgetExhaustedError,
    HistoryEditedError,
    LateError,
    Message,
    RolloutEndedError,
    StepLimitError,
    Trajectory,
    tool,
)
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.engines.base import Completion
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.recorder import Recorder
from rollout_doubles import TEMPLATES, THINKING, ScriptedEngine, call_text, make_task, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer())
TOKENIZER = FORMAT.tokenizer
USER: Message = {"role": "user", "content": "How many?"}
RESULT: Message = {"role": "tool", "content": "84"}
CALL, ANSWER = spelled(TOKENIZER, call_text("12*7")), spelled(TOKENIZER, r"\boxed{84}")


def recorder(engine: ScriptedEngine, chat_format: ChatFormat = FORMAT, **limits: Any) -> Recorder:
    settings = {"max_prompt_length": 999, "max_response_length": 999, "max_tokens": 200, "max_steps": 9, **limits}
    return Recorder(engine, chat_format, Limits(**settings), make_task(seed=3), "session")


def talk(model: Recorder, *follow_ups: list[Message]) -> list[Message]:
    """Chat once, then once more for each list of further messages; return the whole conversation."""

    async def run() -> list[Message]:
        messages = [USER]
        messages.append(await model.chat(messages))
        for further in follow_ups:
            messages += further
            messages.append(await model.chat(messages))
        return messages

    return asyncio.run(run())


def split(trajectory: Trajectory) -> tuple[list[int], list[int], list[float]]:
    """What the policy wrote, what it was shown after the prompt, and the log-probabilities of the former."""
    rows = list(
        zip(trajectory.response_tokens, trajectory.response_masks, trajectory.response_logprobs, strict=True)  # type: ignore[arg-type]
    )
    written = [(token, logprob) for token, own, logprob in rows if own]
    assert all(logprob == 0.0 for _, own, logprob in rows if not own)
    return [token for token, _ in written], [token for token, own, _ in rows if not own], [lp for _, lp in written]


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=TEMPLATES)
def test_trajectories_hold_exactly_what_was_sampled(template: str) -> None:
    chat_format = ChatFormat(make_tokenizer(template))
    engine = ScriptedEngine([CALL, ANSWER])
    model = recorder(engine, chat_format)
    talk(model, [RESULT])
    trajectory = model.trajectory(1.0)
    written, shown, logprobs = split(trajectory)
    assert written == CALL + ANSWER
    assert logprobs == [-0.001 * (place + 1) for reply in (CALL, ANSWER) for place in range(len(reply))]
    assert shown == list(chat_format.suffix_ids([RESULT])[1:])  # the policy ended its turn itself
    assert trajectory.prompt_tokens == list(chat_format.initial_ids([USER]))
    # Each call was given all that was recorded before it, so the policy's context and the trajectory are one.
    whole = [*trajectory.prompt_tokens, *trajectory.response_tokens]
    assert [prompt for prompt, _, _ in engine.calls] == [whole[: len(prompt)] for prompt, _, _ in engine.calls]
    assert engine.calls[1][0] == whole[: -len(ANSWER)]
    # The proof that it matters: the same conversation, tokenized again, has other tokens of the policy.
    text = chat_format.tokenizer.decode(whole)
    again = chat_format.tokenizer.encode(text, add_special_tokens=False)
    assert chat_format.tokenizer.decode(again) == text
    assert again != whole


def test_the_message_has_openais_form() -> None:
    engine = ScriptedEngine([spelled(TOKENIZER, "Wait. " + call_text("12*7") + "<tool_call>{</tool_call>"), ANSWER])
    model = recorder(engine)
    messages = talk(model, [RESULT, RESULT])
    first, last = messages[1], messages[-1]
    assert (first["role"], first["content"], first["finish_reason"]) == ("assistant", "Wait.", "tool_calls")
    good, bad = first["tool_calls"]
    assert good == {
        "id": "call_0_0",
        "type": "function",
        "function": {"name": "calculator", "arguments": '{"expression": "12*7"}'},
    }
    assert "can't be read" in bad["error"]
    assert last == {"role": "assistant", "content": r"\boxed{84}", "finish_reason": "stop"}
    assert model.metrics == {"turns": 2, "tool_calls": 2, "malformed_tool_calls": 1}
    assert model.trajectory().chat_completions == messages


def test_a_turn_that_was_cut_is_ended_with_a_token_that_is_not_the_policys() -> None:
    engine = ScriptedEngine([ANSWER, ANSWER])
    model = recorder(engine, max_tokens=4)
    messages = talk(model, [RESULT])
    assert messages[1]["finish_reason"] == "length"
    written, shown, _ = split(model.trajectory())
    assert written == ANSWER[:4] * 2
    assert shown == list(FORMAT.suffix_ids([RESULT]))
    assert model.trajectory().finish_reason == "length"


def test_the_response_budget_counts_tools_and_ends_the_rollout() -> None:
    suffix = len(FORMAT.suffix_ids([RESULT])) - 1
    model = recorder(ScriptedEngine([CALL, ANSWER]), max_response_length=len(CALL) + suffix + 2)
    messages = talk(model, [RESULT])
    assert messages[-1]["finish_reason"] == "length"
    assert split(model.trajectory())[0] == CALL + ANSWER[:2]
    with pytest.raises(BudgetExhaustedError, match="max_response_length"):
        asyncio.run(model.chat([*messages, RESULT]))
    trajectory = model.trajectory()
    assert len(trajectory.response_tokens) == len(CALL) + suffix + 2
    assert (trajectory.finish_reason, model.fault) == ("length", None)


@pytest.mark.parametrize("room", [0, 1])
def test_tool_text_that_leaves_no_room_is_not_appended(room: int) -> None:
    suffix = len(FORMAT.suffix_ids([RESULT])) - 1
    model = recorder(ScriptedEngine([CALL, ANSWER]), max_response_length=len(CALL) + suffix + room)
    if room:
        talk(model, [RESULT])
    else:
        with pytest.raises(BudgetExhaustedError):
            talk(model, [RESULT])
    trajectory = model.trajectory()
    assert trajectory.finish_reason == "length"
    assert len(trajectory.response_tokens) == (len(CALL) + suffix + 1 if room else len(CALL))
    assert trajectory.response_masks[-1] == 1


def test_max_model_len_ends_the_rollout_too() -> None:
    prompt = len(FORMAT.initial_ids([USER]))
    model = recorder(ScriptedEngine([ANSWER], max_model_len=prompt + 3))
    assert talk(model)[-1]["finish_reason"] == "length"
    assert model.trajectory().response_tokens == ANSWER[:3]
    with pytest.raises(BudgetExhaustedError, match="max_model_len"):
        talk(recorder(ScriptedEngine([ANSWER], max_model_len=prompt)))


def test_max_steps_ends_the_rollout() -> None:
    model = recorder(ScriptedEngine([CALL]), max_steps=2)
    with pytest.raises(StepLimitError, match="max_steps is 2"):
        talk(model, [RESULT], [RESULT])
    assert model.trajectory().finish_reason == "max_steps"
    assert model.trajectory().response_tokens[-len(CALL) :] == CALL


def edit_content(messages: list[Message]) -> list[Message]:
    return [{**USER, "content": "changed"}, *messages[1:], RESULT]


def edit_in_place(messages: list[Message]) -> list[Message]:
    messages[1]["content"] = "changed"
    return [*messages, RESULT]


def drop_calls(messages: list[Message]) -> list[Message]:
    return [messages[0], {"role": "assistant", "content": ""}, RESULT]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (edit_content, r"message 0 \(user\) was changed"),
        (edit_in_place, r"message 1 \(assistant\) was changed"),
        (drop_calls, r"message 1 \(assistant\) was changed"),
        (lambda messages: [RESULT], r"message 0 \(user\) was changed"),
        (lambda messages: [*messages], "append an answer"),
        (lambda messages: messages[:1], "append an answer"),
        (lambda messages: [*messages, {"role": "assistant", "content": "x"}], "did not write"),
    ],
)
def test_an_edited_history_is_refused_and_remembered(edit: Callable[[list[Message]], list[Message]], said: str) -> None:
    model = recorder(ScriptedEngine([CALL, ANSWER]))
    messages = talk(model)
    with pytest.raises(HistoryEditedError, match=said):
        asyncio.run(model.chat(edit(messages)))
    assert isinstance(model.fault, HistoryEditedError)
    assert model.trajectory().response_tokens == CALL


def test_messages_may_be_copied_and_lose_what_the_policy_never_sees() -> None:
    model = recorder(ScriptedEngine([CALL, ANSWER]))
    messages = talk(model)
    reply = {key: messages[1][key] for key in ("role", "content", "tool_calls")}
    asyncio.run(model.chat([dict(USER), reply, RESULT]))
    assert model.fault is None


def test_the_tools_stay_the_same() -> None:
    @tool
    def double(x: int) -> int:
        return 2 * x

    async def run() -> None:
        model = recorder(ScriptedEngine([CALL]))
        messages = [USER, await model.chat([USER], [double]), RESULT]
        messages += [await model.chat(messages, [double.schema]), RESULT]
        with pytest.raises(HistoryEditedError, match="the tools differ"):
            await model.chat(messages)

    asyncio.run(run())


def test_thoughts_that_a_template_drops_begin_a_new_segment() -> None:
    chat_format = ChatFormat(make_tokenizer(THINKING))
    thinking = spelled(TOKENIZER, "<think>\nhm\n</think>\n\nyes")
    kept = recorder(ScriptedEngine([thinking]), chat_format)
    talk(kept, [RESULT])
    assert kept.trajectory().segments == []
    model = recorder(engine := ScriptedEngine([thinking, ANSWER, ANSWER]), chat_format)
    messages = talk(model, [USER], [USER])
    first, second = model.trajectory().segments
    assert first.response_tokens == thinking
    assert second.prompt_tokens == engine.calls[1][0] == list(chat_format.initial_ids(messages[:3]))
    assert "hm" not in TOKENIZER.decode(second.prompt_tokens)
    assert [
        token for token, own in zip(second.response_tokens, second.response_masks, strict=True) if own
    ] == ANSWER * 2  # type: ignore[arg-type]
    assert (model.fault, model.messages) == (None, messages)


def test_one_call_at_a_time_and_none_after_the_end() -> None:
    engine = ScriptedEngine([ANSWER])

    async def run() -> None:
        model = recorder(engine)
        first = asyncio.ensure_future(model.chat([USER]))
        await asyncio.sleep(0)
        with pytest.raises(RolloutEndedError, match="one call at a time"):
            await model.chat([USER])
        await first
        model.end()
        model.end()
        with pytest.raises(RolloutEndedError, match="has ended"):
            await model.chat([USER])

    asyncio.run(run())
    assert engine.released == ["session"]


def test_a_late_model_call_is_a_fault() -> None:
    class Hanging(ScriptedEngine):
        def generate(self, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Completion]:
            return asyncio.sleep(60)  # type: ignore[return-value]

    model = recorder(Hanging([ANSWER]), turn_timeout=0.01)
    with pytest.raises(LateError, match="the model call took longer"):
        talk(model)
    assert model.failed(LateError("x")).finish_reason == "timeout"
    assert isinstance(model.fault, LateError)


def test_sampling_reaches_the_engine() -> None:
    engine = ScriptedEngine([ANSWER])
    model = recorder(engine, top_k=4)

    async def run() -> None:
        await model.chat([USER], temperature=0.5)

    asyncio.run(run())
    _, params, session = engine.calls[0]
    assert (params.top_k, params.temperature, params.max_tokens, session) == (4, 0.5, 200, "session")
    assert params.stop_token_ids == FORMAT.stop_ids
    with pytest.raises(ValueError, match="at least one message"):
        asyncio.run(recorder(engine).chat([]))
