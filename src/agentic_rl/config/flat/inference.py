"""Shared level: the inference engine and its sampling."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from agentic_rl.config.fields.level import Level
from agentic_rl.config.types import Integer, PositiveFloat, PositiveFraction, PositiveInt, UnitInterval


class InferenceKeys(Level):
    """Layout, memory and limits of the inference engine; how tokens are drawn."""

    infer_tensor_parallel_size: PositiveInt = 4
    """Devices that share one copy of the model at inference; divides the inference devices, usually 1, 2, 4 or 8."""
    infer_pipeline_parallel_size: PositiveInt = 1
    """Pipeline stages at inference. No backend runs with more than 1."""
    infer_expert_parallel_size: PositiveInt = 1
    """Devices that share the experts of a mixture-of-experts model; divides the number of experts. This version runs
    with 1."""
    max_num_seqs: PositiveInt = 1024
    """Sequences that the engine decodes at the same time."""
    max_num_batched_tokens: PositiveInt = 8192
    """Tokens that the engine takes in one forward pass, over all sequences."""
    max_model_len: PositiveInt = 16384
    """Longest sequence in tokens, prompt and response together; not above the model's own context."""
    gpu_memory_utilization: PositiveFraction = 0.85
    """Share of a device's memory that the inference engine may take."""
    dtype: Literal["bfloat16", "float16"] = "bfloat16"
    """Number format of the model at inference. `mindspeed_rl` runs with bfloat16 only."""
    enforce_eager: bool = True
    """Run the inference engine without compiled graphs."""
    max_prompt_length: Annotated[int, Field(ge=1, le=131072)] = 2048
    """Longest prompt in tokens, chat template included."""
    max_tokens: PositiveInt = 8192
    """New tokens of one call of the model (one turn)."""
    rollout_n: Annotated[int, Field(ge=1, le=64)] = 2
    """Trajectories sampled for each prompt: the group whose rewards are compared."""
    temperature: PositiveFloat = 0.6
    """Divides the logits before sampling; 1 samples from the policy itself."""
    top_k: Integer = 20
    """Sample among the k most likely tokens; -1 or 0 turns the limit off."""
    top_p: PositiveFraction = 1.0
    """Sample among the most likely tokens that together reach this probability; 1 turns the limit off."""
    min_p: UnitInterval = 0.01
    """Drop tokens less likely than this share of the most likely token. Documented range (0, 1]; 0 (off) is accepted
    with a warning."""
