"""The golden numbers were computed with verl 0.9.1's `core_algos` on the tokens of `conftest.fixed_tokens`."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from agentic_rl.algorithms import policy_loss
from agentic_rl.algorithms.aggregation import token_weights
from agentic_rl.algorithms.policy_loss import TokenLoss

CLIP = 0.2
GOLDEN = {  # (mode, aggregation): (loss, sum of the magnitudes of the log-probabilities' gradients)
    ("vanilla", "token-mean"): (0.089792351617, 0.616762250656),
    ("vanilla", "seq-mean-token-sum"): (0.359169406470, 2.467049002625),
    ("vanilla", "seq-mean-token-mean"): (0.784913476529, 1.206489394917),
    ("gpg", "token-mean"): (-0.047193233896, 0.643750011921),
    ("gpg", "seq-mean-token-sum"): (-0.188772935583, 2.575000047684),
    ("gpg", "seq-mean-token-mean"): (-0.775757103517, 0.850000004153),
    ("clip-cov", "token-mean"): (-0.003781307024, 0.523188592015),
    ("clip-cov", "seq-mean-token-sum"): (-0.015125228095, 2.092754368060),
    ("clip-cov", "seq-mean-token-mean"): (0.691339818121, 1.112915736509),
    ("kl-cov", "token-mean"): (-0.076167118929, 0.981269750666),
    ("kl-cov", "seq-mean-token-sum"): (-0.304668475716, 3.925079002662),
    ("kl-cov", "seq-mean-token-mean"): (0.668097618160, 1.518095394101),
}


def loss_of(mode: str, logprobs_N: Tensor, old_logprobs_N: Tensor, advantages_N: Tensor) -> TokenLoss:
    seen = (logprobs_N, old_logprobs_N, advantages_N)
    detached = (logprobs_N.detach(), old_logprobs_N, advantages_N)
    if mode == "gpg":
        return policy_loss.policy_gradient(*seen)
    if mode == "clip-cov":
        bounds = {"share": 1.0, "lower": 0.1, "upper": 0.6}
        removed_N = policy_loss.clip_cov_tokens(*detached, torch.Generator(), clip_ratio=CLIP, **bounds)
        return policy_loss.clip_cov(*seen, removed_N, clip_ratio=CLIP)
    if mode == "kl-cov":
        penalised_N = policy_loss.kl_cov_tokens(detached[0], detached[2], share=0.2)
        return policy_loss.kl_cov(*seen, penalised_N, kl_coef=0.1)
    return policy_loss.clipped_surrogate(*seen, clip_ratio=CLIP)


@pytest.mark.parametrize(("mode", "aggregation"), GOLDEN)
def test_loss_and_gradient_are_the_golden_ones(tokens, mode, aggregation):
    logprobs_N, old_logprobs_N, advantages_N = tokens.flat
    logprobs_N.requires_grad_()
    lengths_B = tokens.mask_BT.sum(1)
    weights_N = token_weights(lengths_B, aggregation).repeat_interleave(lengths_B.long())
    loss = (loss_of(mode, logprobs_N, old_logprobs_N, advantages_N).loss * weights_N).sum()
    loss.backward()
    golden_loss, golden_gradient = GOLDEN[mode, aggregation]
    assert loss.item() == pytest.approx(golden_loss, abs=1e-7)
    assert logprobs_N.grad.abs().sum().item() == pytest.approx(golden_gradient, abs=1e-7)


@pytest.mark.parametrize(
    ("mode", "clipped", "kl"),
    [("vanilla", 0.125, -0.2740057656), ("clip-cov", 0.125, -0.2740057656), ("kl-cov", 3 / 16, 0.403892051)],
)
def test_what_is_watched_has_the_golden_means(tokens, mode, clipped, kl):
    loss = loss_of(mode, *tokens.flat)
    assert loss.clipped.double().mean().item() == pytest.approx(clipped)
    assert loss.kl.mean().item() == pytest.approx(kl)


def surrogate(ratio: float, advantage: float) -> tuple[float, float]:
    """Loss and gradient by the log-probability of one token."""
    logprob = torch.tensor(math.log(ratio), dtype=torch.float64, requires_grad=True)
    loss = policy_loss.clipped_surrogate(
        logprob, torch.zeros_like(logprob), torch.tensor(advantage).double(), clip_ratio=CLIP
    ).loss
    loss.backward()
    return loss.item(), logprob.grad.item()


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "gradient"),
    [
        (1.0, 1.0, -1.0, -1.0),
        (1.1, 2.0, -2.2, -2.2),
        (1.5, 1.0, -1.2, 0.0),  # far enough up: no more gain
        (0.5, 1.0, -0.5, -0.5),  # a good token that became rare is pulled back
        (0.5, -1.0, 0.8, 0.0),  # far enough down
        (1.5, -1.0, 1.5, 1.5),
        (4.0, -1.0, 3.0, 0.0),  # the dual clip: a bad token that became frequent is bounded
        (4.0, 1.0, -1.2, 0.0),
        (4.0, 0.0, 0.0, 0.0),
    ],
)
def test_clipped_surrogate_by_hand(ratio, advantage, loss, gradient):
    assert surrogate(ratio, advantage) == pytest.approx((loss, gradient))


def test_a_huge_ratio_stays_finite():
    far = torch.tensor([-800.0])
    loss = policy_loss.clipped_surrogate(torch.zeros(1), far, torch.tensor([-1.0]), clip_ratio=CLIP)
    assert loss.loss.item() == 3.0
    assert loss.kl.item() == -20.0


def test_clip_cov_removes_at_random_its_share_of_the_candidates():
    generator = torch.Generator().manual_seed(0)
    logprobs_N = torch.linspace(-3, 0, 1000)
    advantages_N = torch.linspace(-2, 2, 1000)

    def removed_N() -> Tensor:
        return policy_loss.clip_cov_tokens(
            logprobs_N, logprobs_N, advantages_N, generator, clip_ratio=CLIP, share=0.05, lower=1.0, upper=2.0
        )

    first, second = removed_N(), removed_N()
    covariances_N = (advantages_N - advantages_N.mean()) * (logprobs_N - logprobs_N.mean())
    assert first.sum() == second.sum() == 50
    assert not torch.equal(first, second)
    assert ((covariances_N[first] > 1.0) & (covariances_N[first] < 2.0)).all()


def test_clip_cov_without_candidates_removes_nothing(tokens):
    removed_N = policy_loss.clip_cov_tokens(
        *tokens.flat, torch.Generator(), clip_ratio=CLIP, share=0.5, lower=100.0, upper=200.0
    )
    assert not removed_N.any()


def test_kl_cov_penalises_the_largest_covariances_and_at_least_one():
    logprobs_N, advantages_N = torch.tensor([-3.0, -2.0, -1.0, 0.0]), torch.tensor([1.0, 0.0, 0.0, 2.0])
    assert policy_loss.kl_cov_tokens(logprobs_N, advantages_N, share=0.001).tolist() == [False, False, False, True]
    assert policy_loss.kl_cov_tokens(logprobs_N, advantages_N, share=1.0).all()
