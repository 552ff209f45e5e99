"""Tiny random models of every covered architecture, and of some that only transformers' forward covers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from functools import cache
from typing import Any

import pytest
import torch
import transformers

from agentic_rl.rollout.engines.base import Completion, SamplingParams

SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "tie_word_embeddings": True,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
COVERED: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen3": ("Qwen3", {"head_dim": 16}),
    "qwen3-mha-untied": ("Qwen3", {"head_dim": 8, "num_key_value_heads": 4, "tie_word_embeddings": False}),
    "qwen3-biases": ("Qwen3", {"head_dim": 16, "attention_bias": True}),
    "qwen2": ("Qwen2", {}),
    "qwen2-one-kv-head-untied": ("Qwen2", {"num_key_value_heads": 1, "tie_word_embeddings": False}),
    "llama": ("Llama", {}),
    "llama-biases": ("Llama", {"attention_bias": True, "mlp_bias": True}),
    "llama3-rope": ("Llama", {"rope_parameters": LLAMA3}),
    "smollm2": ("Llama", {"num_attention_heads": 3, "num_key_value_heads": 1, "hidden_size": 48, "rms_norm_eps": 1e-5}),
    "linear-rope": ("Llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}}),
}
OTHERS: dict[str, tuple[str, dict[str, Any]]] = {
    "gpt2": ("GPT2", {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 256, "vocab_size": 97}),
    "gemma": ("Gemma", {"head_dim": 8}),
    "qwen2-sliding": ("Qwen2", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 0}),
}


@cache
def tiny(name: str) -> Any:
    """A model that later tests must find as it is; those that write to one make their own with `fresh`."""
    return fresh(name)


def fresh(name: str) -> Any:
    """Weights large enough that predictions differ, and norms and biases that are not 1 and 0."""
    kind, changes = {**COVERED, **OTHERS}[name]
    config = getattr(transformers, f"{kind}Config")(**(changes if kind == "GPT2" else {**SIZES, **changes}))
    torch.manual_seed(0)
    model = getattr(transformers, "GPT2LMHeadModel" if kind == "GPT2" else f"{kind}ForCausalLM")(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.15)
    return model.eval()


@pytest.fixture(name="tiny")
def tiny_fixture() -> Callable[[str], Any]:
    return tiny


@pytest.fixture(name="fresh")
def fresh_fixture() -> Callable[[str], Any]:
    return fresh


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def prompts(*lengths: int, seed: int = 0) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(0, 97, (length,), generator=generator).tolist() for length in lengths]


async def together(engine: Any, requests: list[list[int]], **sampling: Any) -> list[Completion]:
    """All prompts at once, each with a seed of its own."""
    values = {"max_tokens": 12, **sampling}
    calls = (engine.generate(p, SamplingParams(seed=i, **values)) for i, p in enumerate(requests))
    return list(await asyncio.gather(*calls))


@pytest.fixture(name="prompts")
def prompts_fixture() -> Callable[..., list[list[int]]]:
    return prompts


@pytest.fixture(name="together")
def together_fixture() -> Callable[..., Coroutine[Any, Any, list[Completion]]]:
    return together


@torch.no_grad()
def teacher_forced(model: Any, prompt: list[int], tokens: list[int], temperature: float = 1.0) -> list[float]:
    """Log-probabilities of `tokens` after `prompt`, by transformers' forward over the whole sequence."""
    logits = model(input_ids=torch.tensor([prompt + tokens])).logits[0, len(prompt) - 1 : -1].float()
    logprobs = torch.log_softmax(logits / temperature, -1)
    return logprobs.gather(1, torch.tensor(tokens)[:, None])[:, 0].tolist()


@pytest.fixture(name="teacher_forced")
def teacher_forced_fixture() -> Callable[..., list[float]]:
    return teacher_forced
