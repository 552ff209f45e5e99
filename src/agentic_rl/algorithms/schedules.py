"""Learning rates over a training: factors on the configured rate, by training step.

A training step is one rollout batch with all its mini batches and epochs; steps count from 0. Both schedules rise
linearly from 0 through the warm-up, so that with a warm-up the first step has rate 0: the numbers of verl.
"""

from __future__ import annotations

import math


def warmup_steps(fraction: float, total_steps: int) -> int:
    """Steps of the warm-up for its share of the training."""
    return int(fraction * total_steps)


def constant(step: int, warmup: int) -> float:
    """Factor 1 after `warmup` steps."""
    return step / warmup if step < warmup else 1.0


def cosine(step: int, warmup: int, total_steps: int, *, min_ratio: float = 0.0, cycles: float = 0.5) -> float:
    """Cosine decay from 1 to `min_ratio`: SGDR (https://arxiv.org/abs/1608.03983, equation 5) without restarts.

    `cycles` counts cosine waves between the end of the warm-up and `total_steps`: 0.5 falls once, 1.0 falls and
    rises again.
    """
    if step < warmup:
        return step / warmup
    progress = (step - warmup) / max(1, total_steps - warmup)
    wave = math.cos(2 * math.pi * cycles * progress)
    return max(min_ratio, (1 - min_ratio) * 0.5 * wave + (1 + min_ratio) * 0.5)
