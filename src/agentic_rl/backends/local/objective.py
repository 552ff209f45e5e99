"""The configured loss of the policy on the tokens of a mini batch.

Shape suffixes: N tokens that the policy wrote, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from agentic_rl.algorithms import policy_loss
from agentic_rl.algorithms.entropy import entropy
from agentic_rl.algorithms.policy_loss import TokenLoss
from agentic_rl.config.flat import FlatConfig, LocalSection

ENTROPY_CHUNK = 2048
"""Tokens worked on at a time with `entropy_from_logits_with_chunking`."""


@dataclass(frozen=True)
class Evidence:
    """What is known of the policy's tokens before an update."""

    old_logprobs_N: Tensor
    """From the policy that sampled them."""
    advantages_N: Tensor
    chosen_N: Tensor
    """True for the tokens that a covariance rule chose."""
    recomputed: bool
    """The rollout gave no log-probabilities: the old ones are the training model's own."""

    def at(self, index_N: Tensor) -> Evidence:
        """The same for some of the tokens: their numbers, or True where they are."""
        return replace(
            self,
            old_logprobs_N=self.old_logprobs_N[index_N],
            advantages_N=self.advantages_N[index_N],
            chosen_N=self.chosen_N[index_N],
        )


class Objective:
    """Policy loss and entropy bonus as `policy_loss_model`, its keys, `clip_ratio` and `entropy_coeff` say."""

    def __init__(self, config: FlatConfig, section: LocalSection) -> None:
        self._config = config
        self._section = section
        self._mode = section.policy_loss_model
        self._entropy_chunk = ENTROPY_CHUNK if section.entropy_from_logits_with_chunking else None

    @property
    def chooses_tokens(self) -> bool:
        """Whether the loss treats tokens differently that are chosen by comparing all of a mini batch."""
        return self._mode in ("clip-cov", "kl-cov")

    @property
    def ignores_zero_advantage(self) -> bool:
        """Whether a sample of advantage 0 leaves the gradient as it is."""
        return not (self.chooses_tokens or self._config.entropy_coeff or self._section.use_kl_loss)

    def choose_tokens(self, logprobs_N: Tensor, evidence: Evidence, generator: torch.Generator) -> Tensor:
        """The tokens of a whole mini batch that Clip-Cov or KL-Cov single out: True where chosen."""
        section = self._section
        if self._mode == "kl-cov":
            return policy_loss.kl_cov_tokens(logprobs_N, evidence.advantages_N, share=section.policy_loss_kl_cov_ratio)
        return policy_loss.clip_cov_tokens(
            logprobs_N,
            evidence.old_logprobs_N,
            evidence.advantages_N,
            generator,
            clip_ratio=self._config.clip_ratio,
            share=section.policy_loss_clip_cov_ratio,
            lower=section.policy_loss_clip_cov_lb,
            upper=section.policy_loss_clip_cov_ub,
        )

    def policy_loss(self, logprobs_N: Tensor, evidence: Evidence) -> TokenLoss:
        """Loss per token without the entropy bonus."""
        seen = (logprobs_N, evidence.old_logprobs_N, evidence.advantages_N)
        if self._mode == "gpg":
            return policy_loss.policy_gradient(*seen)
        if self._mode == "clip-cov":
            return policy_loss.clip_cov(*seen, evidence.chosen_N, clip_ratio=self._config.clip_ratio)
        if self._mode == "kl-cov":
            return policy_loss.kl_cov(*seen, evidence.chosen_N, kl_coef=self._section.policy_loss_ppo_kl_coef)
        return policy_loss.clipped_surrogate(*seen, clip_ratio=self._config.clip_ratio)

    def entropy(self, logits_NV: Tensor) -> Tensor:
        """Entropy per token; with gradient only where `entropy_coeff` asks for it."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and self._config.entropy_coeff > 0):
            return entropy(logits_NV, self._entropy_chunk)
