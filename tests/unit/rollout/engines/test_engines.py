"""What holds for every engine: both are run through the same tests."""

from __future__ import annotations

import asyncio

import pytest
import torch

from agentic_rl.rollout.engines import EngineClosedError, PromptTooLongError, SamplingParams, engine_for
from agentic_rl.rollout.engines.generate import GenerateEngine
from agentic_rl.rollout.engines.ragged import RaggedEngine

ENGINES = [(RaggedEngine, "qwen3"), (GenerateEngine, "qwen3"), (GenerateEngine, "gpt2"), (GenerateEngine, "gemma")]


@pytest.fixture(params=ENGINES, ids=lambda p: f"{p[0].__name__}-{p[1]}")
def model_and_engine(request, tiny):
    kind, name = request.param
    model = tiny(name)
    return model, kind(model, max_model_len=128, max_num_seqs=8, max_num_batched_tokens=64)


def test_greedy_tokens_equal_those_of_generate(model_and_engine, prompts, together) -> None:
    model, engine = model_and_engine
    requests = prompts(9, 3, 31, 17, 1)
    got = asyncio.run(together(engine, requests, temperature=0.0))
    for prompt, completion in zip(requests, got, strict=True):
        ids = torch.tensor([prompt])
        settings = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
        want = model.generate(ids, attention_mask=torch.ones_like(ids), **settings)[0, len(prompt) :]
        assert completion.tokens == want.tolist()
        assert completion.finish_reason == "length"


@pytest.mark.parametrize(
    "sampling", [{}, {"temperature": 0.7}, {"temperature": 0.0}, {"temperature": 1.3, "top_k": 5, "top_p": 0.8}]
)
def test_logprobs_equal_a_teacher_forced_forward(model_and_engine, sampling, prompts, together, teacher_forced) -> None:
    model, engine = model_and_engine
    requests = prompts(9, 3, 31, 17, 1, 60, 4, 4, 11, 2)
    got = asyncio.run(together(engine, requests, **sampling))
    for prompt, completion in zip(requests, got, strict=True):
        want = teacher_forced(model, prompt, completion.tokens, sampling.get("temperature") or 1.0)
        assert completion.logprobs == pytest.approx(want, abs=1e-5)


def test_a_row_is_the_same_alone_and_among_others(model_and_engine, prompts) -> None:
    _, engine = model_and_engine
    requests = prompts(9, 3, 31, 17, 1, 60, 4, 4, 11, 2)

    async def one(index: int):
        return await engine.generate(requests[index], SamplingParams(10, seed=index, top_p=0.9))

    async def all_together():
        return await asyncio.gather(*map(one, range(len(requests))))

    for index, among in enumerate(asyncio.run(all_together())):
        assert asyncio.run(one(index)).tokens == among.tokens


def test_equal_inputs_give_equal_bits(model_and_engine, prompts, together) -> None:
    _, engine = model_and_engine
    requests = prompts(9, 3, 31, 17, 1, 60, 4, 4, 11, 2)
    assert asyncio.run(together(engine, requests)) == asyncio.run(together(engine, requests))


def test_seeds_differ(model_and_engine, prompts, together) -> None:
    _, engine = model_and_engine
    got = asyncio.run(together(engine, prompts(9) * 6))
    assert len({tuple(completion.tokens) for completion in got}) == 6


def test_a_stop_token_ends_a_row_and_is_kept(model_and_engine, prompts, together) -> None:
    _, engine = model_and_engine
    requests = prompts(9, 3, 31)
    free = asyncio.run(together(engine, requests, temperature=0.0))
    stops = tuple({completion.tokens[5] for completion in free})
    got = asyncio.run(together(engine, requests, temperature=0.0, stop_token_ids=stops))
    for whole, stopped in zip(free, got, strict=True):
        end = min(whole.tokens.index(stop) for stop in stops if stop in whole.tokens)
        assert stopped.tokens == whole.tokens[: end + 1]
        assert stopped.finish_reason == "stop"


def test_max_model_len_ends_a_row(model_and_engine, prompts, together) -> None:
    _, engine = model_and_engine
    [almost, short] = asyncio.run(together(engine, prompts(126, 120), max_tokens=100))
    assert (len(almost.tokens), len(short.tokens)) == (2, 8)
    assert almost.finish_reason == short.finish_reason == "length"


def test_what_cannot_be_generated_is_refused_with_the_reason(model_and_engine) -> None:
    _, engine = model_and_engine

    async def refused(prompt: list[int], **sampling) -> str:
        with pytest.raises(ValueError, match=r".") as caught:
            await engine.generate(prompt, SamplingParams(**{"max_tokens": 5, **sampling}))
        return f"{type(caught.value).__name__}: {caught.value}"

    long = asyncio.run(refused([1] * 128))
    assert long.startswith(PromptTooLongError.__name__)
    assert "128 tokens" in long
    assert "empty" in asyncio.run(refused([]))
    assert "token id 97" in asyncio.run(refused([1, 97]))
    assert "token id -1" in asyncio.run(refused([-1]))
    bad = {"max_tokens": 0, "temperature": -0.1, "top_k": -2, "top_p": 0.0, "min_p": 1.5}
    for name, value in bad.items():
        assert f"{name} is {value}" in asyncio.run(refused([1], **{name: value}))
    assert "temperature is inf" in asyncio.run(refused([1], temperature=float("inf")))


def test_more_requests_than_rows_are_served_in_order(model_and_engine, prompts) -> None:
    _, engine = model_and_engine
    ended: list[int] = []

    async def one(index: int, prompt: list[int]) -> None:
        await engine.generate(prompt, SamplingParams(4, seed=index))
        ended.append(index)

    async def many() -> None:
        await asyncio.gather(*(one(i, p) for i, p in enumerate(prompts(*[6] * 30))))

    asyncio.run(many())
    assert [index // 8 for index in ended] == sorted(index // 8 for index in range(30))


def test_a_cancelled_call_frees_its_row(model_and_engine, prompts) -> None:
    _, engine = model_and_engine

    async def scenario() -> None:
        long = [asyncio.ensure_future(engine.generate(p, SamplingParams(100))) for p in prompts(*[6] * 12)]
        for _ in range(20):
            await asyncio.sleep(0)
        for call in long[:4] + long[9:]:  # four that run, three that wait
            call.cancel()
        results = await asyncio.gather(*long, return_exceptions=True)
        assert [isinstance(r, asyncio.CancelledError) for r in results] == [True] * 4 + [False] * 5 + [True] * 3
        assert all(len(r.tokens) == 100 for r in results[4:9])
        assert len((await engine.generate([1, 2], SamplingParams(3))).tokens) == 3

    asyncio.run(scenario())


def test_all_calls_cancelled_leaves_an_idle_engine(model_and_engine, prompts) -> None:
    _, engine = model_and_engine

    async def scenario() -> None:
        calls = [asyncio.ensure_future(engine.generate(p, SamplingParams(100))) for p in prompts(5, 5)]
        await asyncio.sleep(0.01)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await asyncio.wait_for(engine._task, 10)

    asyncio.run(scenario())


def test_a_slow_tool_of_one_agent_does_not_hold_others(model_and_engine) -> None:
    _, engine = model_and_engine
    ended: list[str] = []

    async def agent(name: str, tool: asyncio.Event | None) -> None:
        first = await engine.generate([1, 2, 3], SamplingParams(5), session=name)
        if tool is not None:
            await tool.wait()
        await engine.generate([1, 2, 3, *first.tokens, 4], SamplingParams(5), session=name)
        engine.release(name)
        ended.append(name)

    async def scenario() -> None:
        tool = asyncio.Event()
        slow = asyncio.ensure_future(agent("slow", tool))
        await asyncio.gather(*(agent(f"fast {i}", None) for i in range(5)))
        assert len(ended) == 5
        tool.set()
        await slow

    asyncio.run(scenario())
    assert ended[-1] == "slow"


def test_an_engine_serves_one_event_loop_after_the_other(model_and_engine, prompts, together) -> None:
    _, engine = model_and_engine
    first, second = (asyncio.run(together(engine, prompts(4, 5))) for _ in range(2))
    assert first == second


def test_a_loop_that_ends_early_leaves_a_usable_engine(model_and_engine, prompts, together) -> None:
    _, engine = model_and_engine

    async def leaves() -> None:
        call = asyncio.ensure_future(engine.generate([1, 2], SamplingParams(100)))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not call.done()

    asyncio.run(leaves())
    assert len(asyncio.run(together(engine, prompts(4)))[0].tokens) == 12


def test_a_loop_that_is_closed_over_its_callers_leaves_a_usable_engine(model_and_engine, prompts, together) -> None:
    _, engine = model_and_engine
    loop = asyncio.new_event_loop()
    call = loop.create_task(engine.generate([1, 2], SamplingParams(100)))
    loop.run_until_complete(asyncio.sleep(0))
    loop.call_soon(loop.stop)
    loop.run_forever()
    stepping = engine._task
    loop.close()
    assert len(asyncio.run(together(engine, prompts(4)))[0].tokens) == 12
    for task in (call, stepping):  # asyncio would complain of them when they go
        task._log_destroy_pending = False


def test_close_fails_those_who_wait_and_those_who_come(model_and_engine, prompts) -> None:
    _, engine = model_and_engine

    async def scenario() -> None:
        calls = [asyncio.ensure_future(engine.generate(p, SamplingParams(100))) for p in prompts(*[5] * 12)]
        await asyncio.sleep(0.01)
        await engine.close()
        await engine.close()
        results = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(result, EngineClosedError) for result in results)
        with pytest.raises(EngineClosedError, match="closed"):
            await engine.generate([1], SamplingParams(1))

    asyncio.run(scenario())


def test_close_before_any_call(model_and_engine) -> None:
    _, engine = model_and_engine
    asyncio.run(engine.close())


@pytest.mark.parametrize(("kind", "name"), ENGINES[:3])
def test_a_failing_model_reaches_all_callers_and_closes_the_engine(kind, name, fresh, prompts, together) -> None:
    model = fresh(name)
    engine = kind(model, max_model_len=128, max_num_seqs=4)

    async def scenario() -> list[BaseException]:
        with torch.no_grad():
            model.get_input_embeddings().weight.fill_(torch.nan)
        calls = (engine.generate(p, SamplingParams(5)) for p in prompts(*[5] * 6))
        return await asyncio.gather(*calls, return_exceptions=True)

    failures = asyncio.run(scenario())
    assert len(set(map(id, failures))) == 6
    for failure in failures:
        assert isinstance(failure, EngineClosedError)
        assert isinstance(failure.__cause__, FloatingPointError)
    with pytest.raises(EngineClosedError, match="not finite"):
        asyncio.run(together(engine, prompts(3)))


def test_a_model_in_training_mode_is_read_without_dropout_and_left_in_it(fresh, prompts, together) -> None:
    for name in ("qwen3", "gpt2"):
        model = fresh(name)
        still = asyncio.run(together(engine_for(model, max_model_len=128), prompts(4, 5)))
        model.train()
        assert asyncio.run(together(engine_for(model, max_model_len=128), prompts(4, 5))) == still
        assert model.training


def test_the_engine_fits_the_model(tiny) -> None:
    assert isinstance(engine_for(tiny("llama"), max_model_len=16), RaggedEngine)
    assert isinstance(engine_for(tiny("gpt2"), max_model_len=16), GenerateEngine)


def test_tokens_are_told_as_they_are_made(model_and_engine, prompts) -> None:
    _, engine = model_and_engine
    prompt = prompts(9)[0]
    events: list[object] = []

    async def main():
        whole = asyncio.ensure_future(
            engine.generate(prompt, SamplingParams(12), on_tokens=lambda *news: events.append(news))
        )
        for _ in range(60):
            await asyncio.sleep(0)
            events.append("the loop runs")
        return await whole, await engine.generate(prompt, SamplingParams(12))

    told, silent = asyncio.run(main())
    news = [event for event in events if isinstance(event, tuple)]
    assert told == silent
    assert [token for tokens, _ in news for token in tokens] == told.tokens
    assert [logprob for _, logprobs in news for logprob in logprobs] == told.logprobs
    assert events.index(news[0]) < events.index("the loop runs", events.index(news[0])) < events.index(news[-1])


def test_who_wants_no_more_tokens_ends_a_call_alone(model_and_engine, prompts, together) -> None:
    _, engine = model_and_engine
    enough, other = prompts(9, 5)
    seen: list[int] = []

    def take(tokens, logprobs) -> None:
        seen.extend(tokens)
        if len(seen) == 3:
            raise StopAsyncIteration("enough")

    async def main():
        calls = (
            engine.generate(enough, SamplingParams(12), session="a", on_tokens=take),
            engine.generate(other, SamplingParams(12, seed=1), session="b"),
        )
        return await asyncio.gather(*calls, return_exceptions=True)

    ended, whole = asyncio.run(main())
    assert (type(ended), len(seen)) == (StopAsyncIteration, 3)
    assert whole.tokens == asyncio.run(together(engine, [enough, other]))[1].tokens
