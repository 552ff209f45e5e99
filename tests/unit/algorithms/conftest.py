"""One small batch on which the losses were computed by other means."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor


@dataclass(frozen=True)
class Tokens:
    """Rectangular, as verl wants it (suffix BT), and flat without the masked places (suffix N)."""

    logprobs_BT: Tensor
    old_logprobs_BT: Tensor
    advantages_BT: Tensor
    mask_BT: Tensor

    @property
    def flat(self) -> tuple[Tensor, Tensor, Tensor]:
        keep = self.mask_BT > 0
        return self.logprobs_BT[keep], self.old_logprobs_BT[keep], self.advantages_BT[keep]


def fixed_tokens() -> Tokens:
    """4 samples of 6 places, the same on every machine and torch version."""
    place_BT = torch.arange(24, dtype=torch.float64).reshape(4, 6)
    logprobs_BT = -1.5 + place_BT.sin()
    mask_BT = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 0, 0, 1, 1], [1, 1, 1, 1, 1, 1], [1, 0, 0, 0, 0, 0]])
    advantages_BT = torch.tensor([1.2, -0.7, 0.0, -1.5]).double()[:, None] * mask_BT
    return Tokens(logprobs_BT, logprobs_BT + 0.6 * (3 * place_BT).cos() - 0.3, advantages_BT, mask_BT.double())


@pytest.fixture
def tokens() -> Tokens:
    return fixed_tokens()
