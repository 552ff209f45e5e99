"""Entropy of the policy's next-token distribution.

Shape suffixes: N tokens, V vocabulary.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint


def entropy(logits_NV: Tensor, chunk_size: int | None = None) -> Tensor:
    """Shannon entropy in nats of each row's softmax, shape (N,).

    H = logsumexp(z) - sum(softmax(z) * z). With `chunk_size` so many rows are worked on at a time and the backward
    pass computes them again: the memory beyond the logits is then that of one chunk.
    """
    if chunk_size is None:
        return _entropy(logits_NV)
    chunks = [
        checkpoint(_entropy, rows, use_reentrant=False, preserve_rng_state=False)
        for rows in logits_NV.split(chunk_size)
    ]
    return torch.cat(chunks)


def _entropy(logits_NV: Tensor) -> Tensor:
    return logits_NV.logsumexp(-1) - (logits_NV.softmax(-1) * logits_NV).sum(-1)
