"""The memory estimate of the local backend beside what is measured, at three sizes of a random Qwen3 model.

    python benchmarks/memory.py [--device cpu|cuda] [--entropy 0.001] [--group 4] [--detail]

Each size runs in a process of its own: rollouts of the engine and updates of the backend's own learner, all samples
of full length. On a GPU the measure is what torch's allocator held at most (the context, which no estimate counts, is
not in it); on a CPU it is the growth of the resident memory, of smaller models.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentic_rl.config.memory import estimate, show_size

PROMPT, RESPONSE = 128, 128
SIZES: dict[str, dict[str, dict[str, int]]] = {
    "cpu": {
        "4M": {"vocab": 8000, "hidden": 256, "layers": 2, "heads": 4, "kv": 2, "inner": 1024},
        "20M": {"vocab": 16000, "hidden": 384, "layers": 6, "heads": 6, "kv": 6, "inner": 1152},
        "60M": {"vocab": 32000, "hidden": 512, "layers": 12, "heads": 8, "kv": 4, "inner": 1536},
    },
    "cuda": {
        "20M": {"vocab": 32000, "hidden": 256, "layers": 10, "heads": 4, "kv": 4, "inner": 1024},
        "150M": {"vocab": 50304, "hidden": 768, "layers": 18, "heads": 12, "kv": 4, "inner": 2048},
        "500M": {"vocab": 64000, "hidden": 1280, "layers": 24, "heads": 16, "kv": 8, "inner": 3584},
    },
}
HEAD = 64


def values_of(size: dict[str, int], options: argparse.Namespace) -> dict[str, Any]:
    """Values and facts of a run by dotted key, as the checker has them."""
    from agentic_rl.config.flat import FlatConfig, LocalSection

    section = LocalSection(
        train_files="/none",
        val_files="/none",
        train_batch_size=8,
        ppo_mini_batch_size=4,
        max_response_length=RESPONSE,
        ppo_max_token_len_per_gpu=options.micro,
        val_before_train=False,
    )
    config = FlatConfig(
        tokenizer_name_or_path="/none",
        agent_name="math",
        train_backend="local",
        local=section,
        rollout_n=options.group,
        max_prompt_length=PROMPT,
        max_model_len=PROMPT + RESPONSE,
        max_num_seqs=256,
        entropy_coeff=options.entropy,
    )
    values = config.model_dump(exclude={"verl", "mindspeed_rl", "local"})
    model = {
        "num_hidden_layers": size["layers"],
        "hidden_size": size["hidden"],
        "num_attention_heads": size["heads"],
        "num_key_value_heads": size["kv"],
        "head_dim": HEAD,
        "intermediate_size": size["inner"],
        "vocab_size": size["vocab"],
        "tie_word_embeddings": True,
        "model_type": "qwen3",
    }
    local = {f"local.{key}": value for key, value in section.model_dump().items()}
    return values | local | {f"@model.{key}": value for key, value in model.items()} | {"config": config}


class Run:
    """The parts of the local backend that hold memory, on one device."""

    def __init__(self, values: dict[str, Any], device: str) -> None:
        import torch
        from transformers import Qwen3Config, Qwen3ForCausalLM

        from agentic_rl.backends.local.learner import Learner
        from agentic_rl.rollout.engines import engine_for

        self.config = values["config"]
        torch.manual_seed(0)
        facts = {key.removeprefix("@model."): value for key, value in values.items() if key.startswith("@model.")}
        del facts["model_type"]
        with torch.device(device):
            self.model = Qwen3ForCausalLM(Qwen3Config(**facts, max_position_embeddings=4096)).eval()
        self.parameters = sum(parameter.numel() for parameter in self.model.parameters())
        self.engine = engine_for(
            self.model, max_model_len=self.config.max_model_len, max_num_seqs=self.config.max_num_seqs
        )
        self.learner = Learner(self.model, self.config, self.config.local, 100, 0)
        self.rng = torch.Generator().manual_seed(0)
        self.draw = random.Random(0)

    def step(self) -> None:
        """A training step: rollouts of full length, then the updates."""
        vocabulary, group = self.model.config.vocab_size, self.config.rollout_n
        prompts = [self.draw.choices(range(vocabulary), k=PROMPT) for _ in range(self.config.local.train_batch_size)]
        self.engine.weights_changed()
        samples = asyncio.run(self._roll_out([prompt for prompt in prompts for _ in range(group)]))
        self.learner.update(samples, self.rng)

    async def _roll_out(self, prompts: list[list[int]]) -> list[Any]:
        from agentic_rl.backends.local.batches import Sample
        from agentic_rl.rollout.engines.base import SamplingParams

        params = [SamplingParams(RESPONSE, seed=number, temperature=0.6) for number in range(len(prompts))]
        ended = await asyncio.gather(*map(self.engine.generate, prompts, params))
        group = self.config.rollout_n
        return [
            Sample(
                prompt + done.tokens, PROMPT, [1] * len(done.tokens), done.logprobs, self.draw.random(), number // group
            )
            for number, (prompt, done) in enumerate(zip(prompts, ended, strict=True))
        ]


def measured(values: dict[str, Any], device: str) -> dict[str, int]:
    """Run two training steps: the parameters, and the most bytes held."""
    import torch

    torch.set_num_threads(1)
    _warm_up(values, device)
    before = 0 if device == "cuda" else _resident("VmRSS")
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    else:
        Path("/proc/self/clear_refs").write_text("5")  # lets VmHWM begin anew
    run = Run(values, device)
    for _ in range(2):
        run.step()
    peak = torch.cuda.max_memory_allocated() if device == "cuda" else _resident("VmHWM")
    return {"parameters": run.parameters, "bytes": peak - before}


def _warm_up(values: dict[str, Any], device: str) -> None:
    """Load every module and library that a step needs, with a model of next to nothing."""
    tiny = {"num_hidden_layers": 1, "hidden_size": 64, "intermediate_size": 64, "vocab_size": 256}
    Run(values | {f"@model.{key}": value for key, value in tiny.items()}, device).step()


def _resident(name: str) -> int:
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024


def compare(name: str, options: argparse.Namespace) -> float:
    """Print one size's line; how far the estimate is off, as a share of what was measured."""
    command = [sys.executable, __file__, "--measure", name, "--device", options.device]
    command += ["--entropy", str(options.entropy), "--group", str(options.group), "--micro", str(options.micro)]
    # With a fixed threshold glibc gives every tensor back to the system when it is freed.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": "65536", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    found = json.loads(done.stdout.splitlines()[-1])
    estimated = estimate(values_of(SIZES[options.device][name], options) | {"@model.parameters": found["parameters"]})
    assert estimated is not None
    error = estimated.peak / found["bytes"] - 1
    print(
        f"{found['parameters'] / 1e6:8.1f} M parameters   estimate {show_size(estimated.peak):>9} "
        f"({estimated.peak_phase})   measured {show_size(found['bytes']):>9}   {error:+.1%}",
        flush=True,
    )
    if options.detail:
        print("\n".join(f"    {line}" for line in estimated.lines()), flush=True)
    return error


def main() -> None:
    """Compare all sizes, or (called by itself) measure one."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--entropy", type=float, default=0.001, help="entropy_coeff")
    parser.add_argument("--group", type=int, default=4, help="rollout_n")
    parser.add_argument("--micro", type=int, default=2048, help="ppo_max_token_len_per_gpu")
    parser.add_argument("--detail", action="store_true", help="print every line of the estimate")
    parser.add_argument("--measure", metavar="SIZE", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sizes = SIZES[options.device]
    if options.measure:
        print(json.dumps(measured(values_of(sizes[options.measure], options), options.device)))
        return
    errors = [compare(name, options) for name in sizes]
    print(f"largest error {max(errors, key=abs):+.1%} on {options.device}")


if __name__ == "__main__":
    main()
