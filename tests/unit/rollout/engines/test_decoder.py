from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
import torch

from agentic_rl.rollout.engines import supports
from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.cache import Cache
from agentic_rl.rollout.engines.decoder import Decoder
from agentic_rl.rollout.engines.requests import Row
from agentic_rl.rollout.engines.steps import Batch, take_tokens

COVERED = [
    "qwen3",
    "qwen3-mha-untied",
    "qwen3-biases",
    "qwen2",
    "qwen2-one-kv-head-untied",
    "llama",
    "llama-biases",
    "llama3-rope",
    "smollm2",
    "linear-rope",
]


@pytest.fixture
def future() -> Iterator[asyncio.Future]:
    loop = asyncio.new_event_loop()
    yield loop.create_future()
    loop.close()


def logits_in_chunks(model, sequences, future, budget) -> list[torch.Tensor]:
    """The last logits of each sequence, read side by side over the cache, `budget` tokens a step."""
    decoder = Decoder(model, max_model_len=200)
    cache = Cache(decoder.cache_shape, max_model_len=200)
    rows = [Row(sequence, SamplingParams(1), None, 200, future) for sequence in sequences]
    cache.add(rows, room=0)
    found: dict[Row, torch.Tensor] = {}
    with torch.inference_mode():
        while len(found) < len(rows):
            take_tokens(cache.rows(), budget)
            batch = Batch(cache, torch.device("cpu"))
            logits = decoder.forward(batch.input)
            for index, row in enumerate(batch.rows):
                row.cached += row.take
                if row.pending == 0:
                    found[row] = logits[index]
            cache.keep(lambda row: row.pending > 0)
    return [found[row] for row in rows]


@pytest.mark.parametrize("budget", [8, 30, 1000])
@pytest.mark.parametrize("name", COVERED)
def test_logits_equal_those_of_transformers(name, budget, tiny, prompts, future) -> None:
    model, sequences = tiny(name), prompts(5, 1, 70, 17, 40, 9)
    got = logits_in_chunks(model, sequences, future, budget)
    for sequence, ours in zip(sequences, got, strict=True):
        with torch.no_grad():
            theirs = model(input_ids=torch.tensor([sequence])).logits[0, -1]
        assert (ours - theirs).abs().max() <= 1e-5


def test_long_steps_are_computed_in_pieces_with_the_same_result(tiny, prompts, future) -> None:
    sequences = prompts(*[150] * 9)
    whole = logits_in_chunks(tiny("qwen3"), sequences, future, 10_000)  # 1,350 tokens in one step
    for sequence, ours in zip(sequences, whole, strict=True):
        alone = logits_in_chunks(tiny("qwen3"), [sequence], future, 10_000)[0]
        assert (ours - alone).abs().max() <= 1e-5


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-5), (torch.bfloat16, 0.15)])
def test_other_types_of_numbers_take_the_general_path(dtype, tolerance, fresh, prompts, future) -> None:
    model, sequences = fresh("qwen3").to(dtype), prompts(5, 33)
    got = logits_in_chunks(model, sequences, future, 16)
    for sequence, ours in zip(sequences, got, strict=True):
        with torch.no_grad():
            theirs = model(input_ids=torch.tensor([sequence])).logits[0, -1]
        assert ours.dtype is dtype
        assert (ours - theirs).abs().max() <= tolerance


@pytest.mark.parametrize("name", COVERED)
def test_covered_models_are_named_as_such(name, tiny) -> None:
    assert supports(tiny(name))


@pytest.mark.parametrize("name", ["gpt2", "gemma", "qwen2-sliding"])
def test_other_models_are_not(name, tiny) -> None:
    assert not supports(tiny(name))


def test_a_model_with_replaced_layers_or_another_rotation_is_not_covered(fresh) -> None:
    adapted = fresh("qwen3")
    adapted.model.layers[0].self_attn.q_proj = torch.nn.Sequential(adapted.model.layers[0].self_attn.q_proj)
    rotated = fresh("qwen3")
    rotated.config.rope_parameters["rope_type"] = "dynamic"
    mixed = fresh("qwen3")
    mixed.lm_head.weight = torch.nn.Parameter(mixed.lm_head.weight.double())
    assert not any(supports(model) for model in (adapted, rotated, mixed, torch.nn.Linear(2, 2)))
