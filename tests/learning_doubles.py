"""A policy small enough to train in a test, configurations for it, and rollouts that never were."""

from __future__ import annotations

import copy
import random
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from agentic_rl.backends.local.batches import Sample
from agentic_rl.backends.local.learner import Learner
from agentic_rl.config.flat import FlatConfig, LocalSection

VOCABULARY = 29
PAD = 0


def tiny_policy(seed: int = 0, **changes: Any) -> PreTrainedModel:
    torch.manual_seed(seed)
    config = Qwen3Config(**{**_SIZES, "head_dim": 8, "tie_word_embeddings": True, **changes})
    return Qwen3ForCausalLM(config).eval()


def tiny_llama(seed: int = 0) -> PreTrainedModel:
    torch.manual_seed(seed)
    return LlamaForCausalLM(LlamaConfig(**_SIZES)).eval()


_SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "intermediate_size": 32,
    "max_position_embeddings": 128,
}


def settings(**changes: Any) -> tuple[FlatConfig, LocalSection]:
    """A whole configuration; `changes` go to whichever level has the key."""
    section = {name: changes.pop(name) for name in list(changes) if name in LocalSection.model_fields}
    local = LocalSection(train_files="/train.parquet", val_files="/test.parquet", **section)
    values = {"temperature": 1.0, "lr": 1e-2, "entropy_coeff": 0.0, "rollout_n": 4, **changes}
    config = FlatConfig(
        tokenizer_name_or_path="/model", agent_name="math", train_backend="local", local=local, **values
    )
    return config, local


def make_learner(policy: PreTrainedModel, *, total_steps: int = 10, **changes: Any) -> Learner:
    config, section = settings(**changes)
    return Learner(policy, config, section, total_steps, PAD)


def make_samples(*, groups: int = 4, members: int = 4, seed: int = 0) -> list[Sample]:
    """Rollouts of two turns with a shown span between them, of different lengths, rewarded at random."""
    draw = random.Random(seed)
    samples = []
    for group in range(groups):
        prompt = [draw.randrange(VOCABULARY) for _ in range(draw.randint(2, 9))]
        for _ in range(members):
            mask = [1] * draw.randint(1, 6) + [0] * draw.randint(0, 4) + [1] * draw.randint(0, 3) + [0]
            response = [draw.randrange(VOCABULARY) for _ in mask]
            reward = float(draw.randrange(3))
            samples.append(Sample([*prompt, *response], len(prompt), mask, [], reward, group))
    return samples


def reference_logprobs(policy: PreTrainedModel, sample: Sample, temperature: float = 1.0) -> torch.Tensor:
    """Log-probabilities of a sample's response, one forward pass for it alone. Shape (response,)."""
    with torch.no_grad():
        logits = policy(torch.tensor([sample.tokens])).logits[0] / temperature
    logprobs = logits.log_softmax(-1)[:-1].gather(1, torch.tensor(sample.tokens)[1:, None])[:, 0]
    return logprobs[sample.prompt_length - 1 :]


def with_logprobs(policy: PreTrainedModel, samples: list[Sample], temperature: float = 1.0) -> list[Sample]:
    """The samples as an exact engine would have sampled them."""
    sampled = copy.deepcopy(samples)
    for sample in sampled:
        logprobs = reference_logprobs(policy, sample, temperature)
        sample.logprobs = (logprobs * torch.tensor(sample.mask)).tolist()
    return sampled


def rng(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def weights(model: PreTrainedModel) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.state_dict().items()}


def largest_difference(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    return max((one[name] - other[name]).abs().max().item() for name in one)
