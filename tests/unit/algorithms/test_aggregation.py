"""Weights of tokens in a mini batch."""

from __future__ import annotations

import pytest
import torch

from agentic_rl.algorithms.aggregation import token_weights

LENGTHS = torch.tensor([4, 0, 1, 5])


@pytest.mark.parametrize(
    ("mode", "weights"),
    [
        ("token-mean", [0.1, 0.1, 0.1, 0.1]),
        ("seq-mean-token-sum", [1 / 3, 1 / 3, 1 / 3, 1 / 3]),
        ("seq-mean-token-mean", [1 / 12, 1 / 3, 1 / 3, 1 / 15]),
    ],
)
def test_weights_by_hand(mode, weights):
    found = token_weights(LENGTHS, mode)
    assert found[LENGTHS > 0].tolist() == pytest.approx([w for w, n in zip(weights, LENGTHS, strict=True) if n])


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-mean"])
def test_the_weights_of_means_sum_to_one(mode):
    assert (token_weights(LENGTHS, mode) * LENGTHS).sum().item() == pytest.approx(1.0)


@pytest.mark.parametrize("mode", ["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"])
def test_a_batch_without_tokens_has_finite_weights(mode):
    assert token_weights(torch.zeros(3, dtype=torch.long), mode).isfinite().all()
