"""What generates, behind one protocol: the ragged engine and, for models that it doesn't cover, transformers'."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentic_rl.rollout.engines.base import (
    Completion,
    Engine,
    EngineClosedError,
    EngineFaultError,
    PromptTooLongError,
    SamplingParams,
)

if TYPE_CHECKING:
    from agentic_rl.rollout.engines.queue import QueueEngine

__all__ = [
    "Completion",
    "Engine",
    "EngineClosedError",
    "EngineFaultError",
    "PromptTooLongError",
    "SamplingParams",
    "engine_for",
    "supports",
]


def supports(model: Any) -> bool:
    """Whether the ragged engine covers this transformers model. Imports torch."""
    from agentic_rl.rollout.engines import weights

    return weights.supports(model)


def engine_for(
    model: Any, *, max_model_len: int, max_num_seqs: int = 256, max_num_batched_tokens: int = 8192
) -> QueueEngine:
    """The engine for a transformers causal language model: the ragged one if it covers it, or transformers' own."""
    from agentic_rl.rollout.engines.generate import GenerateEngine
    from agentic_rl.rollout.engines.ragged import RaggedEngine

    kind = RaggedEngine if supports(model) else GenerateEngine
    return kind(
        model,
        max_model_len=max_model_len,
        max_num_seqs=max_num_seqs,
        max_num_batched_tokens=max_num_batched_tokens,
    )
