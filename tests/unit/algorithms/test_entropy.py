"""Entropy from logits, whole and in chunks."""

from __future__ import annotations

import math

import pytest
import torch
from torch.distributions import Categorical

from agentic_rl.algorithms.entropy import entropy


def test_entropy_is_torchs():
    logits_NV = torch.randn(9, 13, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * 4
    torch.testing.assert_close(entropy(logits_NV), Categorical(logits=logits_NV).entropy(), rtol=1e-12, atol=1e-12)


def test_equal_logits_have_the_entropy_of_a_fair_draw():
    assert entropy(torch.full((1, 8), 3.0)).item() == pytest.approx(math.log(8))


@pytest.mark.parametrize("chunk_size", [1, 4, 9, 100])
def test_chunks_change_neither_value_nor_gradient(chunk_size):
    whole_NV = torch.randn(9, 13, generator=torch.Generator().manual_seed(0)).requires_grad_()
    chunked_NV = whole_NV.detach().clone().requires_grad_()
    entropy(whole_NV).square().sum().backward()
    entropy(chunked_NV, chunk_size).square().sum().backward()
    torch.testing.assert_close(entropy(chunked_NV, chunk_size), entropy(whole_NV), rtol=0, atol=0)
    torch.testing.assert_close(chunked_NV.grad, whole_NV.grad, rtol=0, atol=1e-7)
