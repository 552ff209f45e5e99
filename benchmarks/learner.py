"""One learner update and one warm-up step: CPU seconds of one thread, in one run.

    python benchmarks/learner.py [--rounds 15] [--prompt 28] [--response 16]

The model is the quickstart's size (hidden 64, 2 layers, vocabulary 451). A training step learns from 32 groups of 8
rollouts in 4 mini batches; rows that share their prompt stand beside one row a sample. The systems alternate, so that
a busy machine slows all of them. The floor is arithmetic: 6 operations a weight and token at the measured speed of
a matrix product.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from transformers import PreTrainedModel, Qwen3Config, Qwen3ForCausalLM

from agentic_rl.backends.local.batches import Sample, StepBatch
from agentic_rl.backends.local.forward import written_logits, written_logprobs
from agentic_rl.backends.local.layout import Layout
from agentic_rl.backends.local.learner import Learner
from agentic_rl.backends.local.warmup import MICRO_BATCH_TOKENS
from agentic_rl.config.flat import FlatConfig, LocalSection

VOCABULARY, GROUPS, MEMBERS = 451, 32, 8


def tiny_model() -> PreTrainedModel:
    """A randomly initialised Qwen3 model of 136 thousand parameters."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "head_dim": 16}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 4}
    return Qwen3ForCausalLM(Qwen3Config(vocab_size=VOCABULARY, tie_word_embeddings=True, **sizes, **heads)).eval()


def rollouts(prompt: int, response: int, *, without_signal: float) -> list[Sample]:
    """Rollouts of two turns; a share of the groups has equal rewards, and so nothing to learn from."""
    draw = random.Random(0)
    mask = [1] * (response // 2) + [0] * (response // 4) + [1] * (response - response // 2 - response // 4)
    samples = []
    for group in range(GROUPS):
        head = draw.choices(range(VOCABULARY), k=prompt)
        for member in range(MEMBERS):
            reward = float(group >= without_signal * GROUPS and member % 2)
            samples.append(Sample(head + draw.choices(range(VOCABULARY), k=response), prompt, mask, [], reward, group))
    return samples


def learner_update(samples: list[Sample], entropy_coeff: float, *, share: bool) -> Callable[[], Any]:
    """All four mini batches of a training step; the old log-probabilities are given."""
    local = LocalSection(train_files="/none", val_files="/none", ppo_mini_batch_size=GROUPS // 4)
    config = FlatConfig(
        tokenizer_name_or_path="/none",
        agent_name="math",
        train_backend="local",
        local=local,
        temperature=1.0,
        rollout_n=MEMBERS,
        entropy_coeff=entropy_coeff,
    )
    learner = Learner(tiny_model(), config, local, 1000, 0)
    if not share:
        learner._layout = Layout(0)
    for sample in samples:
        sample.logprobs = [-6.1] * len(sample.mask)
    generator = torch.Generator().manual_seed(0)
    return lambda: learner.update(samples, generator)


def warmup_step(length: int) -> Callable[[], Any]:
    """Forward and backward of 64 conversations with a loss on every token."""
    model, draw = tiny_model(), random.Random(0)
    samples = [Sample(draw.choices(range(VOCABULARY), k=length), 1, [1] * (length - 1)) for _ in range(64)]

    def step() -> None:
        for micro in StepBatch(samples, Layout(0), model.device).micro_batches(range(64), MICRO_BATCH_TOKENS):
            written_logprobs(written_logits(model, micro), micro).mean().backward()

    return step


def floor(tokens: int) -> float:
    """Seconds that the matrix products alone take at the speed of a large one."""
    one, other = torch.randn(2048, 64), torch.randn(64, 192)
    started = time.process_time()
    for _ in range(200):
        one @ other
    per_second = 200 * 2 * 2048 * 64 * 192 / (time.process_time() - started)
    weights = sum(parameter.numel() for parameter in tiny_model().parameters())
    return 6 * weights * tokens / per_second


def main() -> None:
    """Print medians and least of each system."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--prompt", type=int, default=28)
    parser.add_argument("--response", type=int, default=16)
    options = parser.parse_args()
    torch.set_num_threads(1)
    everything = rollouts(options.prompt, options.response, without_signal=0.0)
    half = rollouts(options.prompt, options.response, without_signal=0.5)
    length = options.prompt + options.response
    systems = {
        "update, one row a sample": (learner_update(everything, 0.01, share=False), 256 * length),
        "update, prompts shared": (learner_update(everything, 0.01, share=True), 256 * length),
        "update, half without signal, one row a sample": (learner_update(half, 0.0, share=False), 128 * length),
        "update, half without signal, prompts shared": (learner_update(half, 0.0, share=True), 128 * length),
        "warm-up step": (warmup_step(length), 64 * length),
    }
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for round_number in range(options.rounds + 1):
        for name, (run, _) in systems.items():
            started = time.process_time()
            run()
            if round_number:  # the first is for caches to fill
                seconds[name].append(time.process_time() - started)
    print(f"{'CPU seconds':48}{'median':>9}{'least':>9}{'floor':>9}")
    for name, (_, tokens) in systems.items():
        print(f"{name:48}{statistics.median(seconds[name]):9.4f}{min(seconds[name]):9.4f}{floor(tokens):9.4f}")


if __name__ == "__main__":
    main()
