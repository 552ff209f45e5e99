"""Tensors of Python numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


def integers(values: Sequence[int], device: torch.device) -> Tensor:
    """Shape (values,), int64; by way of numpy, which takes a fifth of `torch.tensor`'s time."""
    return torch.from_numpy(np.array(values, dtype=np.int64)).to(device)
