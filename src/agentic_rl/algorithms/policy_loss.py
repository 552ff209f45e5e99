"""Losses of the policy, token by token; `aggregation` says how tokens become one number.

Shape suffixes: N tokens that the policy wrote, flat; functions without suffixes work on any shape.
The numbers are those of verl's `core_algos` on the tokens that its mask keeps.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

DUAL_CLIP = 3.0
"""The bound c of dual-clip PPO."""
MAX_LOG_RATIO = 20.0
"""Beyond it a probability ratio is cut, for the sake of finite numbers."""


class TokenLoss(NamedTuple):
    """Loss per token, and what to watch; all of one shape."""

    loss: Tensor
    clipped: Tensor
    """True where clipping (or the covariance rule) took the token's gradient away or changed it."""
    kl: Tensor
    """How far the policy has moved from the one that sampled: k1 estimate, without gradient."""


def clipped_surrogate(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, *, clip_ratio: float, dual_clip: float = DUAL_CLIP
) -> TokenLoss:
    """PPO's clipped surrogate (https://arxiv.org/abs/1707.06347, equation 7) with dual clipping.

    Dual clipping (https://arxiv.org/abs/1912.09729, equation 5) bounds the loss of a token with a negative
    advantage to `dual_clip` times its magnitude.
    """
    log_ratio = torch.clamp(logprobs - old_logprobs, -MAX_LOG_RATIO, MAX_LOG_RATIO)
    ratio = log_ratio.exp()
    unclipped = -advantages * ratio
    clipped = -advantages * ratio.clamp(1 - clip_ratio, 1 + clip_ratio)
    pessimistic = torch.maximum(unclipped, clipped)
    loss = torch.where(advantages < 0, torch.minimum(pessimistic, -advantages * dual_clip), pessimistic)
    return TokenLoss(loss, clipped > unclipped, -log_ratio.detach())


def policy_gradient(logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor) -> TokenLoss:
    """The plain policy gradient of GPG (https://arxiv.org/abs/2504.02546): no ratio, nothing clipped."""
    kl = (old_logprobs - logprobs).detach()
    return TokenLoss(-logprobs * advantages, torch.zeros_like(kl, dtype=torch.bool), kl)


def clip_cov(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, removed: Tensor, *, clip_ratio: float
) -> TokenLoss:
    """Clip-Cov: the clipped surrogate without the tokens that `clip_cov_tokens` chose.

    The Entropy Mechanism of Reinforcement Learning (https://arxiv.org/abs/2505.22617), section 4.2. No dual clip.
    """
    log_ratio = logprobs - old_logprobs
    ratio = log_ratio.exp()
    pessimistic = torch.maximum(-advantages * ratio, -advantages * ratio.clamp(1 - clip_ratio, 1 + clip_ratio))
    return TokenLoss(pessimistic * ~removed, removed, -log_ratio.detach())


def clip_cov_tokens(
    logprobs_N: Tensor,
    old_logprobs_N: Tensor,
    advantages_N: Tensor,
    generator: torch.Generator,
    *,
    clip_ratio: float,
    share: float,
    lower: float,
    upper: float,
) -> Tensor:
    """Choose the tokens that Clip-Cov takes out of the gradient: True where chosen, shape (N,).

    At random `share` of all tokens (at least one) among those that PPO did not clip and whose covariance of
    advantage and log-probability lies between `lower` and `upper`, both excluded (equations 10 and 11).
    `generator` lives on the CPU.
    """
    ratio_N = (logprobs_N - old_logprobs_N).exp()
    clipped_N = -advantages_N * ratio_N.clamp(1 - clip_ratio, 1 + clip_ratio) > -advantages_N * ratio_N
    covariances_N = _covariances(logprobs_N, advantages_N)
    candidates = torch.nonzero((covariances_N > lower) & (covariances_N < upper) & ~clipped_N).flatten()
    order = torch.randperm(len(candidates), generator=generator).to(candidates.device)
    removed_N = torch.zeros_like(clipped_N)
    removed_N[candidates[order[: max(int(share * len(logprobs_N)), 1)]]] = True
    return removed_N


def kl_cov(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, penalised: Tensor, *, kl_coef: float
) -> TokenLoss:
    """KL-Cov: the unclipped surrogate, with a KL penalty on the tokens that `kl_cov_tokens` chose.

    The Entropy Mechanism of Reinforcement Learning (https://arxiv.org/abs/2505.22617), equation 13.
    """
    log_ratio = logprobs - old_logprobs
    loss = -advantages * log_ratio.exp() + kl_coef * log_ratio.abs() * penalised
    return TokenLoss(loss, penalised, log_ratio.detach().abs())


def kl_cov_tokens(logprobs_N: Tensor, advantages_N: Tensor, *, share: float) -> Tensor:
    """Choose the tokens that KL-Cov penalises: True where chosen, shape (N,).

    The `share` (at least one) of all tokens with the largest covariance of advantage and log-probability
    (equation 12).
    """
    chosen_N = torch.zeros_like(logprobs_N, dtype=torch.bool)
    count = min(max(int(share * len(logprobs_N)), 1), len(logprobs_N))
    chosen_N[_covariances(logprobs_N, advantages_N).topk(count).indices] = True
    return chosen_N


def _covariances(logprobs_N: Tensor, advantages_N: Tensor) -> Tensor:
    return (advantages_N - advantages_N.mean()) * (logprobs_N - logprobs_N.mean())
