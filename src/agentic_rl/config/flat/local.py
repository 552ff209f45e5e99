"""The section `local`: the embedded backend. Ours; the published format does not have it."""

from __future__ import annotations

from agentic_rl.config.flat.training import TrainingKeys
from agentic_rl.config.types import PositiveFloat, PositiveInt, SecureFile, UnitInterval


class LocalSection(TrainingKeys):
    """The keys of `verl` that make sense without verl, threads, and a supervised warm-up before the first step."""

    threads: PositiveInt = 1
    """CPU threads of one tensor operation."""
    sft_files: SecureFile | None = None
    """Conversations for a supervised warm-up: a parquet file with a column `messages` (lists of chat messages, tool
    calls included). Null: no warm-up."""
    sft_steps: PositiveInt = 300
    """Optimizer steps of the warm-up; only with `sft_files`."""
    sft_batch_size: PositiveInt = 64
    """Conversations of one warm-up step; only with `sft_files`."""
    sft_lr: PositiveFloat = 8e-3
    """Learning rate of the warm-up; only with `sft_files`."""
    sft_context_weight: UnitInterval = 0.3
    """Weight of the warm-up loss on tokens that the policy only reads; only with `sft_files`."""
