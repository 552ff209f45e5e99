"""Layouts that people run draw no warning of memory; layouts that can't run draw ARL280.

Settings after public recipes (recalled, not copied), put into this format's keys: the GRPO and DAPO scripts among
verl's examples (on devices of 80 GB), MindSpeed-RL's own configurations (64 GB), the examples of this format's
documentation, and its defaults. Where a recipe counts micro batches in samples, `ppo_max_token_len_per_gpu` holds a
comparable number of its longest samples.
"""

from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.config.flat.memory_rules import MEMORY
from agentic_rl.config.rules import Facts, Problem, run
from memory_doubles import values_of

GIB = 1 << 30
SIZES = ("num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "intermediate_size")
SIZES += ("vocab_size", "parameters", "tie_word_embeddings", "head_dim", "model_type")
MODELS: dict[str, tuple[Any, ...]] = {
    "qwen2.5-0.5b": (24, 896, 14, 2, 4864, 151936, 494_000_000, True, 64, "qwen2"),
    "qwen2.5-1.5b": (28, 1536, 12, 2, 8960, 151936, 1_540_000_000, True, 128, "qwen2"),
    "qwen2.5-3b": (36, 2048, 16, 2, 11008, 151936, 3_090_000_000, True, 128, "qwen2"),
    "qwen2.5-7b": (28, 3584, 28, 4, 18944, 152064, 7_620_000_000, False, 128, "qwen2"),
    "qwen2.5-14b": (48, 5120, 40, 8, 13824, 152064, 14_800_000_000, False, 128, "qwen2"),
    "qwen2.5-32b": (64, 5120, 40, 8, 27648, 152064, 32_800_000_000, False, 128, "qwen2"),
    "qwen3-8b": (36, 4096, 32, 8, 12288, 151936, 8_190_000_000, False, 128, "qwen3"),
}
OFFLOADED = {"verl__fsdp_param_offload": True, "verl__fsdp_optimizer_offload": True}
ALL_OFFLOADED = {"offload_train_optimizer": True, "offload_train_grad": True, "offload_train_param": True}


def told(backend: str, model: str, card: int, changes: dict[str, Any]) -> dict[str, Problem]:
    """What the rules of memory say, by code."""
    facts = {f"@model.{name}": size for name, size in zip(SIZES, MODELS[model], strict=True)}
    values = values_of(backend, **changes) | facts | {"@machine.device_memory": card * GIB}
    return {rule.page.code: problem for rule, problem in run(MEMORY, Facts(values, ()))}


def verl(
    batch: tuple[int, int, int], sample: tuple[int, int], tokens: int, share: float, **more: Any
) -> dict[str, Any]:
    """Prompts of a step and of an optimizer step, and samples each; tokens of a prompt, a response, a micro batch."""
    (prompts, mini, group), (prompt, response) = batch, sample
    return {
        "verl__train_batch_size": prompts,
        "verl__ppo_mini_batch_size": mini,
        "rollout_n": group,
        "max_prompt_length": prompt,
        "verl__max_response_length": response,
        "max_model_len": prompt + response,
        "verl__ppo_max_token_len_per_gpu": tokens,
        "gpu_memory_utilization": share,
        "entropy_coeff": 0.0,
        **more,
    }


def mindspeed(batch: tuple[int, int], micro: tuple[int, int], share: float, **more: Any) -> dict[str, Any]:
    """Prompts of a step and samples each; samples of a micro batch and their tokens; the engine's share."""
    (prompts, group), (rows, seq_len) = batch, micro
    return {
        "mindspeed_rl__global_batch_size": prompts,
        "mindspeed_rl__mini_batch_size": prompts,
        "rollout_n": group,
        "mindspeed_rl__micro_batch_size": rows,
        "mindspeed_rl__seq_len": seq_len,
        "gpu_memory_utilization": share,
        **more,
    }


def parallel(tensor: int, pipeline: int) -> dict[str, Any]:
    return {
        "mindspeed_rl__tensor_model_parallel_size": tensor,
        "mindspeed_rl__pipeline_model_parallel_size": pipeline,
    }


ONE, TWO, FOUR = {"num_gpus_per_node": 1}, {"num_gpus_per_node": 2}, {"num_gpus_per_node": 4}
WIDE = {"infer_tensor_parallel_size": 1}
DAPO_BONUS = {"entropy_coeff": 0.001}

VERL: list[tuple[str, str, int, dict[str, Any]]] = [
    ("quickstart, one device", "qwen2.5-0.5b", 80, verl((256, 64, 5), (512, 512), 24000, 0.4, **ONE, **WIDE)),
    ("quickstart, one small device", "qwen2.5-0.5b", 24, verl((256, 64, 5), (512, 256), 4 * 768, 0.4, **ONE, **WIDE)),
    ("gsm8k", "qwen2.5-0.5b", 80, verl((1024, 256, 5), (512, 1024), 24000, 0.6)),
    ("long reasoning", "qwen2.5-1.5b", 80, verl((128, 64, 8), (1024, 8192), 32768, 0.85, **WIDE, **DAPO_BONUS)),
    ("multi-turn gsm8k", "qwen2.5-3b", 80, verl((256, 256, 16), (1024, 1024), 32 * 2048, 0.5, **OFFLOADED)),
    ("multi-turn search", "qwen2.5-3b", 80, verl((256, 256, 5), (4096, 3000), 8 * 7096, 0.5, **OFFLOADED, **WIDE)),
    ("gsm8k, nothing offloaded", "qwen2.5-3b", 80, verl((1024, 256, 5), (512, 1024), 40 * 1536, 0.6)),
    ("gsm8k", "qwen2.5-7b", 80, verl((1024, 256, 5), (512, 1024), 16 * 1536, 0.6)),
    ("balanced sequences", "qwen2.5-7b", 80, verl((1024, 256, 5), (4096, 4096), 24000, 0.6)),
    ("with an entropy bonus", "qwen2.5-7b", 80, verl((1024, 256, 5), (1024, 2048), 24000, 0.6, **DAPO_BONUS)),
    ("a large share, all offloaded", "qwen2.5-7b", 80, verl((512, 32, 16), (2048, 8192), 10240, 0.9, **OFFLOADED)),
    ("two devices", "qwen2.5-7b", 80, verl((48, 48, 5), (1024, 1024), 4096, 0.6, **TWO, **OFFLOADED)),
    ("documented token limit, 64 GB", "qwen2.5-7b", 64, verl((64, 64, 16), (2048, 2048), 24000, 0.6)),
    ("and the documented bonus", "qwen2.5-7b", 64, verl((64, 64, 16), (2048, 2048), 24000, 0.6, entropy_coeff=0.2)),
    ("gsm8k, 64 GB", "qwen3-8b", 64, verl((1024, 256, 5), (512, 1024), 16 * 1536, 0.6)),
    ("agent with long answers", "qwen3-8b", 80, verl((32, 32, 8), (8192, 32768), 40960, 0.6)),
    ("defaults", "qwen2.5-7b", 64, {"rollout_n": 16}),
    ("defaults", "qwen2.5-7b", 80, {"rollout_n": 16}),
    ("defaults", "qwen3-8b", 80, {"rollout_n": 16}),
    ("this format's example", "qwen2.5-7b", 64, {"gpu_memory_utilization": 0.7, "max_num_seqs": 8, **FOUR}),
    ("math", "qwen2.5-14b", 80, verl((1024, 256, 5), (1024, 4096), 24000, 0.6, **OFFLOADED, **DAPO_BONUS)),
    ("math, nothing offloaded", "qwen2.5-14b", 80, verl((1024, 256, 5), (512, 1024), 16 * 1536, 0.6)),
    ("four devices", "qwen2.5-14b", 80, verl((116, 116, 5), (512, 512), 4096, 0.5, **FOUR, **OFFLOADED)),
    ("eight devices", "qwen2.5-32b", 80, verl((64, 64, 5), (512, 512), 4096, 0.6, **OFFLOADED)),
    ("two nodes", "qwen2.5-32b", 80, verl((512, 32, 16), (2048, 8192), 10240, 0.8, verl__nnodes=2, **OFFLOADED)),
]  # fmt: skip
MINDSPEED: list[tuple[str, str, int, dict[str, Any]]] = [
    ("GRPO", "qwen2.5-7b", 64, mindspeed((32, 8), (4, 2048), 0.4, **parallel(2, 2), **ALL_OFFLOADED, num_node=2)),
    ("system test", "qwen2.5-7b", 64, mindspeed((64, 8), (1, 1024), 0.9, **ALL_OFFLOADED)),
    ("GRPO", "qwen3-8b", 64, mindspeed((32, 8), (1, 2048), 0.6, **parallel(2, 2), **ALL_OFFLOADED, num_node=2)),
    ("GRPO", "qwen2.5-32b", 64, mindspeed((64, 16), (2, 1024), 0.6, **parallel(4, 4), **ALL_OFFLOADED, num_node=2)),
    ("DAPO", "qwen2.5-32b", 64, mindspeed((32, 8), (1, 2048), 0.4, **parallel(8, 1), **ALL_OFFLOADED, num_node=2)),
    ("this format's example", "qwen2.5-7b", 64, mindspeed((16, 1), (1, 8192), 0.7, **FOUR, entropy_coeff=0.01)),
    ("web search, four devices", "qwen2.5-7b", 64, mindspeed((16, 4), (1, 16384), 0.4, **FOUR, max_model_len=16384)),
    ("defaults", "qwen2.5-7b", 64, {}),
]  # fmt: skip
RUN = [("verl", *row) for row in VERL] + [("mindspeed_rl", *row) for row in MINDSPEED]
IMPOSSIBLE: list[tuple[str, str, str, int, dict[str, Any]]] = [
    ("verl", "two devices, nothing offloaded", "qwen2.5-32b", 64, {**TWO, "gpu_memory_utilization": 0.4}),
    ("verl", "two devices, all offloaded", "qwen2.5-32b", 64, {**TWO, "gpu_memory_utilization": 0.4, **OFFLOADED}),
    ("verl", "AdamW on one device", "qwen2.5-7b", 64, {**ONE, **WIDE, "gpu_memory_utilization": 0.4}),
    ("verl", "AdamW on one device, offloaded", "qwen2.5-7b", 80, {**ONE, **WIDE, **OFFLOADED}),
    ("verl", "huge micro batch", "qwen2.5-7b", 80, verl((1024, 256, 16), (2048, 8192), 400_000, 0.5, **OFFLOADED)),
    ("verl", "share beside all of AdamW", "qwen2.5-7b", 80, verl((256, 64, 8), (1024, 1024), 8192, 0.8, **FOUR)),
    ("mindspeed_rl", "no parallelism, one device", "qwen2.5-7b", 64, {**ONE, **WIDE, **parallel(1, 1)}),
    ("mindspeed_rl", "two devices", "qwen2.5-32b", 64, {**TWO, **parallel(2, 1), "infer_tensor_parallel_size": 2}),
    ("mindspeed_rl", "huge micro batch", "qwen2.5-7b", 64, mindspeed((64, 8), (16, 8192), 0.4, **ALL_OFFLOADED)),
]


@pytest.mark.parametrize(("backend", "name", "model", "card", "changes"), RUN)
def test_what_people_run_draws_no_warning(
    backend: str, name: str, model: str, card: int, changes: dict[str, Any]
) -> None:
    assert told(backend, model, card, changes) == {}


@pytest.mark.parametrize(("backend", "name", "model", "card", "changes"), IMPOSSIBLE)
def test_what_cannot_run_does(backend: str, name: str, model: str, card: int, changes: dict[str, Any]) -> None:
    assert "ARL280" in told(backend, model, card, changes)
