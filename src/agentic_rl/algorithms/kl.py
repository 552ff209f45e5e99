"""Kullback-Leibler divergence of the policy from a reference: estimates, the exact value, its coefficient.

Shape suffixes: V vocabulary; functions without suffixes work on any shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import torch
from torch import Tensor

KLEstimate = Literal["kl", "abs", "mse", "low_var_kl"]
"""Estimates from the sampled token's log-probability alone."""
KLKind = Literal["kl", "abs", "mse", "low_var_kl", "full"]
"""`full` is the exact divergence and needs the logits of the whole vocabulary."""


def kl_estimate(logprobs: Tensor, reference_logprobs: Tensor, kind: KLEstimate) -> Tensor:
    """Estimate KL(policy || reference) for each sampled token from its two log-probabilities.

    J. Schulman, Approximating KL divergence, 2020 (http://joschu.net/blog/kl-approx.html): `kl` is k1, `mse` is
    k2, `low_var_kl` is k3; `abs` is the magnitude of k1. k3 limits the log-ratio to +-20 and the estimate to
    +-10, as verl's `kl_penalty` does.
    """
    difference = logprobs - reference_logprobs
    if kind == "kl":
        return difference
    if kind == "abs":
        return difference.abs()
    if kind == "mse":
        return 0.5 * difference.square()
    log_ratio = torch.clamp(-difference, min=-20.0, max=20.0)
    return torch.clamp(log_ratio.exp() - log_ratio - 1, min=-10.0, max=10.0)


def exact_kl(logits_V: Tensor, reference_logits_V: Tensor) -> Tensor:
    """KL(policy || reference) = sum over the vocabulary of p * (log p - log q); the last dimension is summed.

    The definition of Kullback and Leibler (1951). A token that the policy can't produce (logit -inf) adds 0.
    """
    logprobs_V = logits_V.log_softmax(-1)
    probabilities_V = logprobs_V.exp()
    difference_V = logprobs_V - reference_logits_V.log_softmax(-1)
    return (probabilities_V * torch.where(probabilities_V > 0, difference_V, 0)).sum(-1)


class KLController(Protocol):
    """The coefficient of a KL penalty, which may follow the measured divergence."""

    value: float

    def update(self, measured_kl: float, samples: int) -> None:
        """Take the mean divergence of a step of `samples` rollouts into account for the next one."""
        ...


@dataclass
class FixedKLController:
    """A coefficient that stays."""

    value: float

    def update(self, measured_kl: float, samples: int) -> None:
        """Change nothing."""


@dataclass
class AdaptiveKLController:
    """A coefficient that steers the divergence towards `target`.

    Ziegler et al., Fine-Tuning Language Models from Human Preferences (https://arxiv.org/abs/1909.08593),
    section 2.2: the relative error, limited to +-0.2, changes the coefficient by that share per `horizon` samples.
    """

    value: float
    target: float
    horizon: int

    def update(self, measured_kl: float, samples: int) -> None:
        """Raise the coefficient when the divergence is above the target, lower it when below."""
        error = min(max(measured_kl / self.target - 1, -0.2), 0.2)
        self.value *= 1 + error * samples / self.horizon
