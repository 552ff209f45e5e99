from __future__ import annotations

import asyncio
import gc
import random
import weakref

import pytest
import torch

from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.ragged import RaggedEngine


@pytest.fixture
def model(tiny):
    return tiny("qwen3")


def counted(engine: RaggedEngine) -> list[int]:
    """The number of tokens that each step feeds, as the engine runs."""
    fed: list[int] = []
    forward = engine._decoder.forward

    def counting(step):
        fed.append(len(step.tokens))
        return forward(step)

    engine._decoder.forward = counting
    return fed


async def conversation(engine, session, first, tools, **sampling) -> list:
    """One call after another, a tool's text between them; what the calls gave."""
    tokens, turns = list(first), []
    for index, text in enumerate([*tools, None]):
        completion = await engine.generate(tokens, SamplingParams(6, seed=index, **sampling), session=session)
        turns.append(completion)
        tokens += completion.tokens + (text or [])
    return turns


def test_a_session_reads_only_what_is_new(model, prompts) -> None:
    engine = RaggedEngine(model, max_model_len=200)
    fed = counted(engine)
    first, *tools = prompts(20, 7, 9)
    asyncio.run(conversation(engine, "s", first, tools))
    # six tokens a turn, of which the last is fed with what follows it
    assert fed == [20, *[1] * 5, 1 + 7, *[1] * 5, 1 + 9, *[1] * 5]


@pytest.mark.parametrize("session", ["one", None])
def test_turns_of_a_session_equal_a_fresh_prefill(model, session, prompts, teacher_forced) -> None:
    engine = RaggedEngine(model, max_model_len=200)
    first, *tools = prompts(20, 7, 30, 40)
    turns = asyncio.run(conversation(engine, session, first, tools))
    tokens = list(first)
    for turn, text in zip(turns, [*tools, []], strict=True):
        assert turn.logprobs == pytest.approx(teacher_forced(model, tokens, turn.tokens), abs=1e-5)
        tokens += turn.tokens + text


def test_many_conversations_at_once_equal_single_ones(model, prompts) -> None:
    """Rows come and go, pools grow and shrink, caches are parked and taken back."""
    rng = random.Random(3)
    talks = [
        prompts(*[rng.randint(1, 60), *(rng.randint(1, 12) for _ in range(rng.randint(0, 5)))], seed=i)
        for i in range(25)
    ]
    crowded = RaggedEngine(model, max_model_len=200, max_num_seqs=7, max_num_batched_tokens=40)
    alone = RaggedEngine(model, max_model_len=200)

    async def slow_talk(index: int, talk):
        tokens, turns = list(talk[0]), []
        for text in [*talk[1:], []]:
            turns.append(await crowded.generate(tokens, SamplingParams(6, seed=len(turns)), session=str(index)))
            tokens += turns[-1].tokens + text
            for _ in range(index % 4 * 7):  # tools of different speed
                await asyncio.sleep(0)
        crowded.release(str(index))
        return turns

    async def crowd():
        return await asyncio.gather(*(slow_talk(i, talk) for i, talk in enumerate(talks)))

    for talk, together in zip(talks, asyncio.run(crowd()), strict=True):
        single = asyncio.run(conversation(alone, None, talk[0], talk[1:]))
        for a, b in zip(single, together, strict=True):
            assert a.tokens == b.tokens
            assert a.logprobs == pytest.approx(b.logprobs, abs=1e-5)


def test_a_session_that_diverges_keeps_the_common_prefix(model, prompts, teacher_forced) -> None:
    engine = RaggedEngine(model, max_model_len=200)
    fed = counted(engine)
    [first, other] = prompts(40, 10)

    async def scenario():
        await engine.generate(first, SamplingParams(5), session="s")
        await asyncio.sleep(0)
        changed = first[:25] + other
        fed.clear()
        completion = await engine.generate(changed, SamplingParams(5), session="s")
        again = await engine.generate(changed[:30], SamplingParams(5), session="s")  # a prefix of what is cached
        return changed, completion, again

    changed, completion, again = asyncio.run(scenario())
    assert fed[0] in (10, 11)  # 11 if the first token of `other` equals the one that was there
    assert completion.logprobs == pytest.approx(teacher_forced(model, changed, completion.tokens), abs=1e-5)
    assert again.logprobs == pytest.approx(teacher_forced(model, changed[:30], again.tokens), abs=1e-5)


def test_two_calls_of_one_session_at_once_are_both_right(model, prompts, teacher_forced) -> None:
    engine = RaggedEngine(model, max_model_len=200)
    [first] = prompts(20)

    async def scenario():
        calls = (engine.generate([*first, i], SamplingParams(5, seed=i), session="s") for i in range(3))
        return await asyncio.gather(*calls)

    for index, completion in enumerate(asyncio.run(scenario())):
        want = teacher_forced(model, [*first, index], completion.tokens)
        assert completion.logprobs == pytest.approx(want, abs=1e-5)


def test_a_prompt_that_a_group_shares_is_read_once(model, prompts, together, teacher_forced) -> None:
    engine = RaggedEngine(model, max_model_len=200, max_num_batched_tokens=256)
    fed = counted(engine)
    [first, second] = prompts(100, 90)
    got = asyncio.run(together(engine, [first] * 6 + [second] * 6))
    assert sum(fed) == 100 + 90 + 10 + 12 * 11  # ten that read the last prompt token only, and what was sampled
    for completion in got[:6]:
        assert completion.logprobs == pytest.approx(teacher_forced(model, first, completion.tokens), abs=1e-5)
    assert len({tuple(c.tokens) for c in got}) == 12


def test_a_beginning_that_tasks_share_is_read_once(model, prompts, together, teacher_forced) -> None:
    engine = RaggedEngine(model, max_model_len=200, max_num_batched_tokens=256)
    fed = counted(engine)
    [system, *tasks] = prompts(100, 10, 12, 14)
    requests = [system + task for task in tasks for _ in range(2)]
    got = asyncio.run(together(engine, requests))
    # the first whole; of the other two what follows 96 shared tokens; of every second its last token
    assert sum(fed) == 110 + (112 - 96) + (114 - 96) + 3 + 6 * 11
    for prompt, completion in zip(requests, got, strict=True):
        assert completion.logprobs == pytest.approx(teacher_forced(model, prompt, completion.tokens), abs=1e-5)


def test_a_task_that_comes_later_copies_from_a_conversation_under_way(model, prompts, teacher_forced) -> None:
    engine = RaggedEngine(model, max_model_len=200)
    [system, first, second] = prompts(64, 10, 12)

    async def scenario():
        turn = await engine.generate(system + first, SamplingParams(5), session="a")
        going = [*system, *first, *turn.tokens, 1]
        second_turn = asyncio.ensure_future(engine.generate(going, SamplingParams(40), session="a"))
        for _ in range(20):
            await asyncio.sleep(0)
        fed = counted(engine)
        late = await engine.generate(system + second, SamplingParams(5, seed=1))
        return fed[0], going, await second_turn, late

    fed, going, turn, late = asyncio.run(scenario())
    assert fed == 12 + 1
    assert turn.logprobs == pytest.approx(teacher_forced(model, going, turn.tokens), abs=1e-5)
    assert late.logprobs == pytest.approx(teacher_forced(model, system + second, late.tokens), abs=1e-5)


def test_a_group_whose_first_row_is_cancelled_goes_on(model, prompts) -> None:
    engine = RaggedEngine(model, max_model_len=200, max_num_seqs=8, max_num_batched_tokens=8)
    [first] = prompts(100)

    async def scenario() -> None:
        calls = [asyncio.ensure_future(engine.generate(first, SamplingParams(3, seed=i))) for i in range(4)]
        for _ in range(14):
            await asyncio.sleep(0)
        calls[0].cancel()
        results = await asyncio.gather(*calls[1:])
        assert all(len(completion.tokens) == 3 for completion in results)

    asyncio.run(scenario())


def test_steps_hold_to_the_token_budget(model, prompts, together) -> None:
    engine = RaggedEngine(model, max_model_len=200, max_num_seqs=8, max_num_batched_tokens=16)
    fed = counted(engine)
    asyncio.run(together(engine, prompts(100, 3, 50, 1, 77)))
    assert max(fed) <= 16
    with pytest.raises(ValueError, match="max_num_batched_tokens is 4"):
        RaggedEngine(model, max_model_len=200, max_num_seqs=8, max_num_batched_tokens=4)


def test_prompts_are_right_when_the_budget_leaves_one_token_a_row(model, prompts, together, teacher_forced) -> None:
    engine = RaggedEngine(model, max_model_len=200, max_num_seqs=8, max_num_batched_tokens=8)
    requests = prompts(*[40] * 4, 3, 2, 30, 50, 9)
    for prompt, completion in zip(requests, asyncio.run(together(engine, requests)), strict=True):
        assert completion.logprobs == pytest.approx(teacher_forced(model, prompt, completion.tokens), abs=1e-5)


def test_an_optimizer_step_is_seen_at_once(fresh, prompts, together, teacher_forced) -> None:
    model = fresh("qwen3")
    engine = RaggedEngine(model, max_model_len=200)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    requests = prompts(9, 30)
    before = asyncio.run(together(engine, requests))
    model(input_ids=torch.tensor([requests[0]])).logits.square().mean().backward()
    optimizer.step()
    after = asyncio.run(together(engine, requests))
    for prompt, completion in zip(requests, after, strict=True):
        assert completion.logprobs == pytest.approx(teacher_forced(model, prompt, completion.tokens), abs=1e-5)
    assert before[0].logprobs != after[0].logprobs


def test_changed_weights_drop_what_sessions_had_cached(fresh, prompts, teacher_forced) -> None:
    model = fresh("qwen3")
    engine = RaggedEngine(model, max_model_len=200)
    [first] = prompts(30)

    async def scenario(write) -> None:
        await engine.generate(first, SamplingParams(5), session="s")
        write()
        completion = await engine.generate(first, SamplingParams(5), session="s")
        assert completion.logprobs == pytest.approx(teacher_forced(model, first, completion.tokens), abs=1e-5)

    def in_place() -> None:
        with torch.no_grad():
            model.model.layers[0].mlp.down_proj.weight.mul_(1.5)

    def unseen() -> None:
        model.model.layers[0].mlp.down_proj.weight.data = model.model.layers[0].mlp.down_proj.weight.data * 1.5
        model.model.norm.weight.data.mul_(1.1)
        engine.weights_changed()

    asyncio.run(scenario(in_place))
    asyncio.run(scenario(unseen))


def test_rows_in_flight_read_their_tokens_again_when_weights_change(fresh, prompts, teacher_forced) -> None:
    model = fresh("qwen3")
    engine = RaggedEngine(model, max_model_len=200)
    [first] = prompts(30)

    async def scenario():
        call = asyncio.ensure_future(engine.generate(first, SamplingParams(40)))
        for _ in range(20):
            await asyncio.sleep(0)
        with torch.no_grad():
            model.model.layers[0].mlp.down_proj.weight.mul_(1.5)
        return await call

    completion = asyncio.run(scenario())
    want = teacher_forced(model, first, completion.tokens)
    assert completion.logprobs[-10:] == pytest.approx(want[-10:], abs=1e-5)
    assert completion.logprobs[0] != pytest.approx(want[0], abs=1e-5)


def test_memory_goes_with_the_sessions(model, prompts, monkeypatch) -> None:
    monkeypatch.setattr("agentic_rl.rollout.engines.cache._KEEP_BYTES", 0)
    engine = RaggedEngine(model, max_model_len=200)

    async def scenario() -> None:
        for index, prompt in enumerate(prompts(30, 20, 10)):
            await engine.generate(prompt, SamplingParams(5), session=str(index))
        held = sum(pool.kv.nbytes for pool in engine._scheduler._cache.pools)
        assert held > 0
        assert len(engine._scheduler._sessions) > 0
        for index in range(3):
            engine.release(str(index))
        assert len(engine._scheduler._sessions) == 0
        assert sum(pool.kv.nbytes for pool in engine._scheduler._cache.pools) == 0

    asyncio.run(scenario())


def test_session_caches_keep_to_their_room_and_results_stay_right(model, prompts, teacher_forced) -> None:
    tokens = 2 * 2 * 2 * 16 * 4  # bytes of one: layers, keys and values, heads, size, float32
    engine = RaggedEngine(model, max_model_len=200, session_cache_bytes=100 * tokens)

    async def scenario():
        sessions = prompts(*[30] * 6)
        for index, prompt in enumerate(sessions):
            await engine.generate(prompt, SamplingParams(5), session=str(index))
            await asyncio.sleep(0)
            assert engine._scheduler._sessions.size <= 100 * tokens
        again = [*sessions[0], 5]
        return again, await engine.generate(again, SamplingParams(5), session="0")

    again, completion = asyncio.run(scenario())
    assert completion.logprobs == pytest.approx(teacher_forced(model, again, completion.tokens), abs=1e-5)


def test_rows_that_outgrow_their_pool_move_on(model, prompts, teacher_forced) -> None:
    engine = RaggedEngine(model, max_model_len=200, max_num_seqs=40)
    requests = prompts(*range(1, 37))

    async def scenario():
        calls = (engine.generate(p, SamplingParams(150, seed=i)) for i, p in enumerate(requests))
        return await asyncio.gather(*calls)

    for prompt, completion in zip(requests, asyncio.run(scenario()), strict=True):
        assert len(completion.tokens) == 150
        assert completion.logprobs == pytest.approx(teacher_forced(model, prompt, completion.tokens), abs=1e-5)


def test_a_closed_engine_does_not_outlive_its_users(fresh, prompts, together) -> None:
    engine = RaggedEngine(fresh("qwen3"), max_model_len=64)
    asyncio.run(together(engine, prompts(4)))
    asyncio.run(engine.close())
    gone = weakref.ref(engine)
    del engine
    gc.collect()
    assert gone() is None
