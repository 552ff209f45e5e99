"""Conversations that fork, are edited, run at the same time or fail: token-exact segments, each token learned once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import compress
from typing import Any

import pytest

from agentic_rl.agents import BudgetExhaustedError, Message, RolloutEndedError, StepLimitError, Trajectory, tool
from agentic_rl.agents.trajectory import Segment, token_list
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.engines.base import Completion, SamplingParams
from agentic_rl.rollout.errors import ChatTemplateError
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.segments import Conversation, Reply
from rollout_doubles import ScriptedEngine, as_sampled, call_text, make_task, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer())
TOKENIZER = FORMAT.tokenizer
USER: Message = {"role": "user", "content": "How many?"}
OTHER: Message = {"role": "user", "content": "And how much?"}
RESULT: Message = {"role": "tool", "content": "84"}
CALL = spelled(TOKENIZER, call_text("12*7"))


def numbered(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
    """A reply that differs with the seed, and with it log-probabilities by which it can be told apart."""
    return as_sampled(spelled(TOKENIZER, f"ab {sampling.seed}"), sampling)


def conversation(engine: ScriptedEngine, **limits: Any) -> Conversation:
    settings = {"max_prompt_length": 999, "max_response_length": 999, "max_tokens": 200, "max_steps": 9, **limits}
    return Conversation(engine, FORMAT, Limits(**settings), make_task(), "session")


def ask(model: Conversation, *conversations: list[Message], **options: Any) -> list[Reply]:
    """Complete each list of messages, one after the other."""

    async def run() -> list[Reply]:
        return [await model.complete(messages, **options) for messages in conversations]

    return asyncio.run(run())


def written(segment: Segment) -> list[int]:
    return list(compress(segment.response_tokens, segment.response_masks))  # type: ignore[arg-type]


def sequences(trajectory: Trajectory) -> list[list[int]]:
    return [[*part.prompt_tokens, *part.response_tokens] for part in trajectory.parts()]


def test_messages_that_continue_keep_every_token() -> None:
    model = conversation(engine := ScriptedEngine([CALL, CALL]))
    (first,) = ask(model, [USER])
    (second,) = ask(model, [USER, first.message, RESULT])
    trajectory = model.trajectory(1.0)
    assert trajectory.segments == []
    (part,) = trajectory.parts()
    assert (part.prompt_tokens, written(part)) == (list(FORMAT.initial_ids([USER])), CALL + CALL)
    assert second.prompt_ids == engine.calls[1][0] == [*first.prompt_ids, *CALL, *FORMAT.suffix_ids([RESULT])[1:]]
    assert (second.token_ids, second.finish_reason, second.text) == (CALL, "tool_calls", call_text("12*7"))


def test_a_clients_own_spelling_of_the_history_continues_it() -> None:
    model = conversation(ScriptedEngine([CALL]))
    (first,) = ask(model, [USER])
    call = first.message["tool_calls"][0]
    again = {**call, "function": {"arguments": '{ "expression" : "12*7"}', "name": "calculator"}}
    reply = {"role": "assistant", "content": None, "tool_calls": [again], "refusal": None}
    for message in (reply, {**reply, "content": [{"type": "text", "text": "\n"}]}):
        ask(model, [{"role": "user", "content": [{"type": "text", "text": USER["content"]}]}, message, RESULT])
    first, second = model.trajectory().segments  # the second answer at one place
    assert written(second) == CALL
    assert list(second.prompt_tokens)[: len(first.prompt_tokens)] == first.prompt_tokens


@pytest.mark.parametrize("calls", [[1], [{"function": "calculator"}], ["x"]])
def test_calls_of_another_form_are_another_history(calls: list[Any]) -> None:
    model = conversation(ScriptedEngine([CALL]))
    (first,) = ask(model, [USER])
    with pytest.raises(ChatTemplateError, match="OpenAI's form"):
        ask(model, [USER, {**first.message, "tool_calls": calls}, RESULT])


def test_two_answers_to_one_question_are_two_segments() -> None:
    model = conversation(ScriptedEngine(numbered))
    first, second = ask(model, [USER], [USER])
    ask(model, [USER, first.message, OTHER])
    one, other = model.trajectory().segments
    assert one.prompt_tokens == other.prompt_tokens == list(FORMAT.initial_ids([USER]))
    assert written(one) == second.token_ids
    assert written(other)[: len(first.token_ids)] == first.token_ids != second.token_ids
    assert model.trajectory().response_tokens == other.response_tokens


def test_a_fork_learns_what_is_before_it_once() -> None:
    model = conversation(ScriptedEngine(numbered))
    (first,) = ask(model, [USER])
    (second,) = ask(model, [USER, first.message, RESULT])
    (third,) = ask(model, [USER, first.message, OTHER])
    one, other = model.trajectory().segments
    assert written(one) == first.token_ids + second.token_ids
    assert written(other) == other.response_tokens == third.token_ids
    assert list(other.prompt_tokens)[: len(first.prompt_ids)] == first.prompt_ids
    assert list(other.prompt_tokens)[len(first.prompt_ids) :][: len(first.token_ids)] == first.token_ids
    assert other.response_logprobs == third.logprobs


@pytest.mark.parametrize(
    "edited",
    [
        [OTHER],
        [{**USER, "content": "changed"}, {"role": "assistant", "content": "ab 0"}, RESULT],
        [USER, {"role": "assistant", "content": "put in its mouth"}, RESULT],
        [USER, {"role": "assistant", "content": "ab 0"}, RESULT, {"role": "assistant", "content": "b"}, OTHER],
    ],
)
def test_an_edited_history_is_a_segment_of_its_own(edited: list[Message]) -> None:
    model = conversation(ScriptedEngine(numbered))
    first, second = ask(model, [USER], edited)
    one, other = model.trajectory().segments
    assert (written(one), written(other)) == (first.token_ids, second.token_ids)
    assert other.prompt_tokens == list(FORMAT.initial_ids(edited))
    assert model.messages == [*edited, second.message]


def test_other_tools_are_another_prompt() -> None:
    @tool
    def double(x: int) -> int:
        return 2 * x

    model = conversation(ScriptedEngine([CALL]))
    (first,) = ask(model, [USER], tools=[double])
    ask(model, [USER, first.message, RESULT], tools=[double.schema])
    ask(model, [USER, first.message, RESULT])
    assert len(model.trajectory().segments) == 2


def test_calls_at_the_same_time_differ_in_seed_and_session_and_lose_nothing() -> None:
    model = conversation(engine := ScriptedEngine(numbered))

    async def run() -> list[Reply]:
        first = await model.complete([USER])
        return [first, *await asyncio.gather(*(model.complete([USER, first.message, OTHER]) for _ in range(3)))]

    first, *others = asyncio.run(run())
    parts = model.trajectory().segments
    assert len({tuple(reply.token_ids) for reply in others}) == len(parts) == 3
    assert sorted(token for part in parts for token in written(part)) == sorted(
        token for reply in (first, *others) for token in reply.token_ids
    )
    assert len({session for _, _, session in engine.calls[1:]}) == 3
    model.end()
    assert {session for _, _, session in engine.calls} == set(engine.released)


def test_a_failed_call_leaves_nothing_and_can_be_made_again() -> None:
    def script(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
        if turn == 1:
            raise ConnectionResetError("gone")
        return numbered(prompt, sampling, turn)

    model = conversation(ScriptedEngine(script), max_steps=2)
    (first,) = ask(model, [USER])
    with pytest.raises(ConnectionResetError):
        ask(model, [USER, first.message, RESULT])
    before = model.trajectory()
    (second,) = ask(model, [USER, first.message, RESULT])
    assert before.response_tokens == first.token_ids
    (part,) = model.trajectory().parts()
    assert written(part) == first.token_ids + second.token_ids


def test_turns_are_counted_over_all_segments() -> None:
    model = conversation(ScriptedEngine(numbered), max_steps=2)
    ask(model, [USER], [OTHER])
    with pytest.raises(StepLimitError, match="max_steps is 2"):
        ask(model, [USER])
    assert model.trajectory().finish_reason == "max_steps"


def test_a_fork_has_no_more_room_than_the_branch_had() -> None:
    model = conversation(ScriptedEngine([CALL]), max_response_length=len(CALL) + 3)
    (first,) = ask(model, [USER])
    for follow_up in (RESULT, OTHER):
        with pytest.raises(BudgetExhaustedError, match="max_response_length"):
            ask(model, [USER, first.message, follow_up])


def test_tokens_that_continue_a_branch_extend_it() -> None:
    model = conversation(ScriptedEngine(numbered))

    async def run() -> None:
        first = await model.complete_ids([5, 6, 7])
        await model.complete_ids([5, 6, 7, *first.token_ids, 9])
        await model.complete_ids([5, 6])
        with pytest.raises(ValueError, match="no tokens"):
            await model.complete_ids([])

    asyncio.run(run())
    longer, shorter = sequences(model.trajectory())
    assert longer[:3] == [5, 6, 7]
    assert shorter[:2] == [5, 6]
    assert [len(part.prompt_tokens) for part in model.trajectory().segments] == [3, 2]


def test_an_answer_that_comes_after_the_end_is_not_recorded() -> None:
    model = conversation(ScriptedEngine(numbered))

    async def run() -> None:
        late = asyncio.ensure_future(model.complete([USER]))
        await asyncio.sleep(0)
        model.end()
        with pytest.raises(RolloutEndedError):
            await late
        with pytest.raises(RolloutEndedError):
            await model.complete([USER])

    asyncio.run(run())
    assert model.trajectory().response_tokens == []


def test_text_that_continues_a_branch_keeps_its_tokens() -> None:
    model = conversation(ScriptedEngine(numbered))
    whole = FORMAT.decode(FORMAT.initial_ids([USER]))

    async def run() -> list[Reply]:
        first = await model.complete_text(whole)
        longer = f"{whole}{first.text}<|im_end|>\n<|im_start|>user\nmore<|im_end|>\n"
        return [first, await model.complete_text(longer), await model.complete_text("ab")]

    first, second, third = asyncio.run(run())
    assert first.prompt_ids == list(FORMAT.initial_ids([USER]))  # special tokens in a text prompt are meant
    assert second.prompt_ids[: len(first.prompt_ids)] == first.prompt_ids
    assert second.prompt_ids[len(first.prompt_ids) :][: len(first.token_ids)] == first.token_ids
    assert third.prompt_ids == FORMAT.encode("ab")
    assert [written(part) for part in model.trajectory().segments] == [
        first.token_ids + second.token_ids,
        third.token_ids,
    ]
    with pytest.raises(ValueError, match="prompt is empty"):
        asyncio.run(model.complete_text(""))


@pytest.mark.parametrize("stop", ["7", ["x", "2*7"], '7"}'])
def test_a_stop_string_ends_the_turn_with_the_token_that_completes_it(stop: str | list[str]) -> None:
    model = conversation(ScriptedEngine([spelled(TOKENIZER, 'a 12*7"} b')]))
    (reply,) = ask(model, [USER], stop=stop)
    first = [stop] if isinstance(stop, str) else stop
    assert (reply.finish_reason, reply.message["finish_reason"]) == ("stop", "stop")
    assert FORMAT.decode(reply.token_ids).endswith(first[-1])
    assert reply.message["content"] == reply.text == FORMAT.decode(reply.token_ids).removesuffix(first[-1])
    assert model.trajectory().response_tokens == reply.token_ids
    ask(model, [USER, reply.message, OTHER])
    assert len(model.trajectory().parts()) == 1


def test_sampling_of_a_call_reaches_the_engine() -> None:
    model = conversation(engine := ScriptedEngine([CALL]))
    ask(model, [USER], seed=7, stop_token_ids=[5], temperature=0.5, top_p=None, max_tokens=None)
    ask(model, [OTHER], seed=7)
    (_, first, _), (_, second, _) = engine.calls
    assert (first.stop_token_ids, first.temperature, first.top_p, first.max_tokens) == (
        tuple({*FORMAT.stop_ids, 5}),
        0.5,
        1.0,
        200,
    )
    assert (second.stop_token_ids, second.seed - first.seed) == (FORMAT.stop_ids, 1)
    with pytest.raises(TypeError, match="does not know best_of"):
        ask(model, [USER], best_of=3)


def test_every_turn_is_a_step() -> None:
    model = conversation(ScriptedEngine(numbered))
    (first,) = ask(model, [USER])
    (second,) = ask(model, [USER, first.message, RESULT])
    (third,) = ask(model, [USER, first.message, OTHER])
    steps = model.trajectory().steps
    for step, reply in zip(steps, (first, second, third), strict=True):
        assert step.prompt_tokens == reply.prompt_ids
        assert step.response_tokens == reply.token_ids
        assert step.response_logprobs == reply.logprobs
        assert (step.model_response, step.reward, step.chat_completions[-1]) == (reply.text, 0.0, reply.message)
    assert [len(step.chat_completions) for step in steps] == [2, 4, 4]
    assert token_list(steps[0].prompt_tokens) == first.prompt_ids
    assert steps[0].prompt_tokens[-1] == first.prompt_ids[-1]
    assert repr(steps[0].response_tokens) == f"TokenWindow({first.token_ids!r})"
    assert steps[0].response_tokens != steps[1].response_tokens


def test_huge_and_broken_text_is_bounded_and_recorded() -> None:
    model = conversation(ScriptedEngine([CALL]), max_response_length=2_000_000)
    (first,) = ask(model, [USER])
    big = [{**RESULT, "content": f"{number}<|im_end|>\ud800" + "x" * 300_000} for number in range(4)]
    for message in big:
        with pytest.raises(BudgetExhaustedError, match="max_model_len 4096"):
            ask(model, [USER, first.message, message])
    assert model.trajectory().response_tokens == first.token_ids
    assert FORMAT.cache.characters < 2_500_000
    (second,) = ask(model, [USER, first.message, {**RESULT, "content": "\udfff<|im_end|>"}])
    assert "?<|im_end|>" in FORMAT.decode(second.prompt_ids)


def test_messages_that_are_nested_too_deep_are_refused() -> None:
    content: Any = "x"
    for _ in range(5000):
        content = [content]
    with pytest.raises((ChatTemplateError, RecursionError)):
        ask(conversation(ScriptedEngine([CALL])), [{"role": "user", "content": content}])
