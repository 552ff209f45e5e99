"""The reference model: a frozen copy of the policy as it was before reinforcement, and the KL from it.

Shape suffixes: B samples, N tokens that the policy wrote, V vocabulary.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from transformers import PreTrainedModel

from agentic_rl.algorithms.kl import KLKind, exact_kl, kl_estimate
from agentic_rl.backends.local.batches import StepBatch
from agentic_rl.backends.local.forward import written_logits, written_logprobs
from agentic_rl.backends.local.layout import MicroBatch


class Reference:
    """A frozen copy of a policy, and the divergence of the learning policy from it."""

    def __init__(self, policy: PreTrainedModel, temperature: float) -> None:
        self.model = copy.deepcopy(policy).requires_grad_(False)
        self._temperature = temperature

    def kl(self, kind: KLKind, micro: MicroBatch, logits_NV: Tensor, logprobs_N: Tensor) -> Tensor:
        """KL(policy || reference) per token, shape (N,), from the policy's logits or, for estimates, `logprobs_N`."""
        with torch.no_grad():
            reference_logits_NV = written_logits(self.model, micro, self._temperature)
        if kind == "full":
            return exact_kl(logits_NV, reference_logits_NV)
        return kl_estimate(logprobs_N, written_logprobs(reference_logits_NV, micro), kind)

    @torch.no_grad()
    def kl_of_batch(
        self, policy: PreTrainedModel, batch: StepBatch, logprobs_N: Tensor, kind: KLKind, *, max_tokens: int
    ) -> Tensor:
        """KL per token of the policy that sampled, shape (N,); `logprobs_N` are the rollout's log-probabilities."""
        kl_N = torch.zeros_like(logprobs_N)
        for micro in batch.micro_batches(range(len(batch)), max_tokens):
            logits_NV = logprobs_N  # not looked at by the estimates
            if kind == "full":
                logits_NV = written_logits(policy, micro, self._temperature)
            kl_N[micro.index_N] = self.kl(kind, micro, logits_NV, logprobs_N[micro.index_N])
        return kl_N
