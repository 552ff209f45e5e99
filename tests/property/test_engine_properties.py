"""Whatever comes, and in whatever order: an engine gives what a fresh forward pass over each sequence gives."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.ragged import RaggedEngine
from agentic_rl.rollout.engines.sampling import Sampler, pick

VOCABULARY = 23


@cache
def model() -> Any:
    from transformers import Qwen2Config, Qwen2ForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    made = Qwen2ForCausalLM(Qwen2Config(vocab_size=VOCABULARY, num_key_value_heads=1, **sizes)).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.2)
    return made


def expected(tokens: list[int], new: list[int]) -> list[float]:
    with torch.no_grad():
        logits = model()(input_ids=torch.tensor([tokens + new])).logits[0, len(tokens) - 1 : -1]
    return torch.log_softmax(logits, -1).gather(1, torch.tensor(new)[:, None])[:, 0].tolist()


texts = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=70)
turns = st.tuples(texts, st.integers(1, 30), st.integers(0, 12), st.booleans())
"""What the policy is shown, how many tokens it may write, how long the tool takes, whether the call is given up."""


@settings(max_examples=60)
@given(
    talks=st.lists(st.tuples(st.integers(0, 2), st.lists(turns, min_size=1, max_size=3)), min_size=1, max_size=8),
    shared=st.lists(texts, min_size=3, max_size=3),
    rows=st.integers(1, 6),
    spare=st.integers(0, 40),
)
def test_conversations_of_any_shape_equal_fresh_forward_passes(talks, shared, rows, spare) -> None:
    engine = RaggedEngine(model(), max_model_len=150, max_num_seqs=rows, max_num_batched_tokens=rows + spare)
    seen: list[tuple[list[int], list[int], list[float]]] = []

    async def talk(name: str, beginning: list[int], parts: list[tuple[list[int], int, int, bool]]) -> None:
        tokens = list(beginning)
        for text, budget, wait, give_up in parts:
            tokens = (tokens + text)[:149]
            sampling = SamplingParams(budget, seed=len(tokens), stop_token_ids=(3,))
            call = asyncio.ensure_future(engine.generate(tokens, sampling, session=name))
            for _ in range(wait):
                await asyncio.sleep(0)
            if give_up:
                call.cancel()
                continue
            completion = await call
            seen.append((list(tokens), completion.tokens, completion.logprobs))
            tokens += completion.tokens
        engine.release(name)

    async def everyone() -> None:
        calls = (talk(str(i), shared[group], parts) for i, (group, parts) in enumerate(talks))
        await asyncio.gather(*calls)
        await engine.close()

    asyncio.run(everyone())
    assert len(seen) == sum(not give_up for _, parts in talks for *_, give_up in parts)
    for tokens, new, logprobs in seen:
        assert logprobs == pytest.approx(expected(tokens, new), abs=1e-5)


@given(
    weights=st.lists(st.floats(0, 1, width=32), min_size=1, max_size=400).filter(lambda w: sum(w) > 0),
    uniform=st.floats(2.0**-51, 1 - 2.0**-51),
    copies=st.sampled_from([1, 20]),
)
def test_the_picked_token_is_where_the_sum_passes_the_uniform_number(weights, uniform, copies) -> None:
    long = torch.tensor([weights * copies])  # 20 copies of up to 400 take the search in two levels
    token = int(pick(long, torch.tensor([uniform], dtype=torch.float64)))
    sums = long[0].double().cumsum(0)
    assert long[0, token] > 0
    slack = float(sums[-1]) * 1e-12
    assert float(sums[token]) >= float(sums[-1]) * uniform - slack
    assert float(sums[token] - long[0, token]) <= float(sums[-1]) * uniform + slack


@given(
    logits=st.lists(st.floats(-8, 8, width=32), min_size=2, max_size=80, unique=True),
    params=st.builds(
        SamplingParams,
        max_tokens=st.just(1),
        temperature=st.sampled_from([0.0, 0.3, 1.0, 2.0]),
        top_k=st.integers(-1, 90),
        top_p=st.floats(0.01, 1.0),
        min_p=st.floats(0.0, 1.0),
        seed=st.integers(),
    ),
)
def test_what_is_sampled_lies_inside_every_bound(logits, params) -> None:
    others = [SamplingParams(1, seed=1), SamplingParams(1, top_p=0.5)]
    rows = torch.tensor([logits] * 3)
    tokens, logprobs = Sampler([params, *others], torch.device("cpu")).sample(rows, torch.tensor([4, 4, 4]))
    probabilities = torch.softmax(rows[0] / (params.temperature or 1.0), -1)
    drawn = probabilities[tokens[0]]
    assert logprobs[0].item() == pytest.approx(drawn.log().item(), abs=1e-5)
    more_probable = probabilities[probabilities > drawn]
    if params.temperature == 0:
        assert len(more_probable) == 0
    if params.top_k > 0:
        assert len(more_probable) < params.top_k
    assert more_probable.sum() < params.top_p + 1e-6
    assert drawn >= params.min_p * probabilities.max() * (1 - 1e-6)
