"""The completions function: bodies read, answers written, threads bridged, log-probabilities found again."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from agentic_rl.agents import RolloutEndedError
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.completions import CompletionsFunction
from agentic_rl.rollout.engines.base import Completion, SamplingParams
from agentic_rl.rollout.limits import Limits
from rollout_doubles import ScriptedEngine, as_sampled, call_text, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer())
ANSWER = spelled(FORMAT.tokenizer, "12 abc")
LIMITS = Limits(max_prompt_length=99, max_response_length=99, max_tokens=50, max_steps=3, temperature=0.7, top_k=9)
USER = [{"role": "user", "content": "How many?"}]


def ask(engine: ScriptedEngine, greedy: bool = False, **body: Any) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        function = CompletionsFunction(engine, FORMAT, LIMITS)
        function.open(5, greedy=greedy)
        return await function(**body)

    return asyncio.run(run())


def test_a_completions_body_with_token_ids() -> None:
    engine = ScriptedEngine([ANSWER])
    answer = ask(engine, prompt=[1, 2, 3], model="any", max_tokens=20, temperature=0.1, logprobs=1)
    (choice,) = answer["choices"]
    assert answer["object"] == "text_completion"
    assert answer["prompt_token_ids"] == [1, 2, 3]
    assert (choice["text"], choice["token_ids"], choice["finish_reason"]) == ("12 abc", ANSWER, "stop")
    assert choice["logprobs"]["token_logprobs"] == [-0.001 * (place + 1) for place in range(len(ANSWER))]
    assert len(choice["logprobs"]["tokens"]) == len(ANSWER)
    assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": len(ANSWER), "total_tokens": 3 + len(ANSWER)}
    prompt, params, _ = engine.calls[0]
    assert prompt == [1, 2, 3]
    assert (params.max_tokens, params.temperature, params.top_k) == (20, 0.1, 9)


@pytest.mark.parametrize("prompt", ["ab", ["ab"], [FORMAT.tokenizer.encode("ab")]])
def test_other_forms_of_a_prompt(prompt: Any) -> None:
    assert ask(ScriptedEngine([ANSWER]), prompt=prompt)["prompt_token_ids"] == FORMAT.tokenizer.encode("ab")


def test_a_chat_body() -> None:
    engine = ScriptedEngine([spelled(FORMAT.tokenizer, "so " + call_text("1+1"))])
    answer = ask(engine, messages=USER, max_completion_tokens=None, extra_body={"top_k": 3})
    (choice,) = answer["choices"]
    assert answer["object"] == "chat.completion"
    assert answer["prompt_token_ids"] == list(FORMAT.initial_ids(USER))
    assert (choice["message"]["content"], choice["finish_reason"]) == ("so", "length")  # max_tokens of the settings
    answer = ask(engine, messages=USER, tools=[], max_tokens=200)
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"] == '{"expression": "1+1"}'
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert engine.calls[0][1].top_k == 3
    assert len(answer["choices"][0]["logprobs"]["content"]) == len(answer["choices"][0]["token_ids"])


def test_a_stop_string_ends_the_tokens_where_it_is_complete() -> None:
    engine = ScriptedEngine([ANSWER])
    (choice,) = ask(engine, prompt="x", stop=["b", "zz"])["choices"]
    assert choice["text"] == "12 a"
    assert choice["token_ids"] == ANSWER[:5]
    assert choice["finish_reason"] == "stop"
    assert len(choice["logprobs"]["token_logprobs"]) == 5
    assert ask(engine, prompt="x", stop="nowhere")["choices"][0]["token_ids"] == ANSWER


def by_seed(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
    return as_sampled(spelled(FORMAT.tokenizer, str(sampling.seed)), sampling)


def test_copies_of_a_prompt_differ_and_a_batch_can_be_repeated() -> None:
    def texts() -> list[str]:
        answers = ask(ScriptedEngine(by_seed), prompt="x", n=4)["choices"]
        return [choice["text"] for choice in answers]

    assert len(set(texts())) == 4
    assert texts() == texts()


def test_evaluation_is_greedy_whatever_the_body_says() -> None:
    engine = ScriptedEngine([ANSWER])
    ask(engine, greedy=True, prompt="x", temperature=1.0)
    assert engine.calls[0][1].temperature == 0.0


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({}, "needs messages or prompt"),
        ({"prompt": "x", "messages": USER}, "and not both"),
        ({"prompt": "x", "stream": True}, "leave stream out"),
        ({"prompt": []}, "prompt must be"),
        ({"prompt": ["a", "b"]}, "one prompt a call"),
        ({"prompt": {"a": 1}}, "prompt must be"),
        ({"prompt": [1] * 64}, "prompt has 64 tokens, which leaves no room in max_model_len 64"),
    ],
)
def test_bodies_that_can_not_be_answered(body: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ask(ScriptedEngine([ANSWER], max_model_len=64), **body)


def test_keys_without_effect_are_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        ask(ScriptedEngine([ANSWER]), prompt="x", frequency_penalty=0.5, echo=None, model="m")
    assert [record.message for record in caplog.records] == ["completions: frequency_penalty have no effect here"]


def test_it_can_be_awaited_on_a_loop_of_another_thread_until_the_batch_ends() -> None:
    function = CompletionsFunction(ScriptedEngine([ANSWER]), FORMAT, LIMITS)
    threads: list[int] = []

    def other() -> str:
        threads.append(threading.get_ident())
        return str(asyncio.run(function(prompt="x"))["choices"][0]["text"])

    async def run() -> None:
        function.open(1, greedy=False)
        assert await asyncio.to_thread(other) == "12 abc"
        function.close()
        with pytest.raises(RolloutEndedError):
            await function(prompt="x")

    asyncio.run(run())
    assert threads != [threading.get_ident()]


def test_logprobs_are_found_for_tokens_that_are_answers_and_for_no_others() -> None:
    async def run() -> None:
        function = CompletionsFunction(ScriptedEngine([ANSWER]), FORMAT, LIMITS)
        function.open(1, greedy=False)
        first = (await function(prompt=[1, 2]))["choices"][0]
        second = (await function(prompt=[1, 2, *first["token_ids"], 7, 8]))["choices"][0]
        own = [-0.001 * (place + 1) for place in range(len(ANSWER))]
        tokens = [1, 2, *first["token_ids"], 7, 8, *second["token_ids"]]
        mask = [1] * len(ANSWER) + [0, 0] + [1] * len(ANSWER)
        assert function.logprobs_of(tokens, mask) == [*own, 0.0, 0.0, *own]
        assert function.logprobs_of(tokens[:-2], mask[:-2]) == [*own, 0.0, 0.0, *own[:-2]]
        assert function.logprobs_of([1, 2, 3], [0]) == [0.0]
        again = FORMAT.tokenizer.encode(first["text"] + "<|im_end|>")
        assert again != ANSWER
        assert function.logprobs_of([1, 2, *again], [1] * len(again)) == []

    asyncio.run(run())
