"""The ragged engine beside transformers' generate and generate_batch: CPU seconds of one thread, in one run.

    python benchmarks/engine.py [--rounds 5] [--batches 16 64 256] [--continuous] [--scaling]

The model is the quickstart's size (hidden 64, 2 layers, vocabulary 451); 28 prompt tokens, 32 new ones, forced to
full length, at temperature 1. The systems alternate, so that a busy machine slows all of them; the ratio is that of
the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch

from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.ragged import RaggedEngine

PROMPT, NEW = 28, 32
Prompts = list[list[int]]


def tiny_model() -> Any:
    """A randomly initialised Qwen3 model of 136 thousand parameters."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "head_dim": 16}
    config = Qwen3Config(
        vocab_size=451, num_attention_heads=4, num_key_value_heads=4, tie_word_embeddings=True, **sizes
    )
    return Qwen3ForCausalLM(config).eval()


def ragged(model: Any, rows: int) -> Callable[[Prompts], None]:
    """Our engine, through its public interface: one call of `generate` for each row."""
    engine = RaggedEngine(model, max_model_len=512, max_num_seqs=rows)

    async def all_rows(prompts: Prompts) -> None:
        calls = (engine.generate(p, SamplingParams(NEW, seed=i)) for i, p in enumerate(prompts))
        for completion in await asyncio.gather(*calls):
            assert len(completion.tokens) == NEW

    return lambda prompts: asyncio.run(all_rows(prompts))


def transformers_generate(model: Any, rows: int) -> Callable[[Prompts], None]:
    """Transformers' generate with its dynamic cache, sampling without truncation."""
    settings = {"do_sample": True, "top_k": 0, "pad_token_id": 0, "eos_token_id": None}

    def run(prompts: Prompts) -> None:
        ids = torch.tensor(prompts)
        with torch.inference_mode():
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, **settings)
        assert out.shape == (rows, PROMPT + NEW)

    return run


def transformers_continuous(model: Any, rows: int) -> Callable[[Prompts], None]:
    """Transformers' continuous batching, its fixed cost made small by few blocks."""
    from transformers import ContinuousBatchingConfig, GenerationConfig

    blocks = ContinuousBatchingConfig(num_blocks=4 * rows, max_batch_tokens=max(512, 2 * rows), page_size=32)
    settings = GenerationConfig(max_new_tokens=NEW, do_sample=True, top_k=0, eos_token_id=-1, pad_token_id=0)

    def run(prompts: Prompts) -> None:
        out = model.generate_batch(
            inputs=prompts, generation_config=settings, continuous_batching_config=blocks, progress_bar=False
        )
        assert sum(len(o.generated_tokens) for o in out.values()) == rows * NEW

    return run


def cpu_seconds(run: Callable[[Prompts], None], prompts: Prompts) -> float:
    """CPU seconds of this process for one run."""
    start = time.process_time()
    run(prompts)
    return time.process_time() - start


def prompts_for(rows: int) -> Prompts:
    """Random prompts, all different."""
    drawn: Prompts = torch.randint(0, 451, (rows, PROMPT)).tolist()
    return drawn


def compare(model: Any, rows: int, makers: Sequence[Callable[..., Any]], rounds: int) -> None:
    """Print tokens per CPU second of each system, and our ratio to it."""
    prompts = prompts_for(rows)
    systems = {maker.__name__: maker(model, rows) for maker in makers}
    for run in systems.values():
        run(prompts)
    seconds: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(rounds):
        for name, run in systems.items():
            seconds[name].append(cpu_seconds(run, prompts))
    ours = statistics.median(seconds["ragged"])
    for name, values in seconds.items():
        middle = statistics.median(values)
        print(f"{rows:5} rows  {name:24} {rows * NEW / middle:9,.0f} tokens/CPU s   {middle / ours:6.2f} x", flush=True)


def scaling(model: Any, rounds: int) -> None:
    """Print the time per token from 16 to 1,024 rows."""
    for rows in (16, 64, 256, 1024):
        run, prompts = ragged(model, rows), prompts_for(rows)
        run(prompts)
        best = min(cpu_seconds(run, prompts) for _ in range(rounds))
        print(f"{rows:5} rows  {best / rows / NEW * 1e6:6.1f} CPU microseconds a token")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, nargs="*", default=[16, 64, 256])
    parser.add_argument("--continuous", action="store_true", help="compare with generate_batch too (slow)")
    parser.add_argument("--scaling", action="store_true", help="time per token from 16 to 1,024 rows")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.ERROR)  # generate_batch reports what it would do with psutil
    model = tiny_model()
    makers = [ragged, transformers_generate] + [transformers_continuous] * options.continuous
    for rows in options.batches:
        compare(model, rows, makers, options.rounds)
    if options.scaling:
        scaling(model, options.rounds)


if __name__ == "__main__":
    main()
