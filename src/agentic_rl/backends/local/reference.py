"""The reference model: a frozen copy of the policy as it was before reinforcement, and the KL from it.

Shape suffixes: B samples, N tokens that the policy wrote, V vocabulary.
"""

from __future__ import annotations

import copy

import torch
from torch import Tensor
from transformers import PreTrainedModel

from agentic_rl.algorithms.kl import KLEstimate, KLKind, exact_kl, kl_estimate
from agentic_rl.backends.local.batches import StepBatch
from agentic_rl.backends.local.forward import written_logits, written_logprobs
from agentic_rl.backends.local.layout import MicroBatch


class Reference:
    """A frozen copy of a policy, and the divergence of the learning policy from it."""

    def __init__(self, policy: PreTrainedModel, temperature: float) -> None:
        self.model = copy.deepcopy(policy).requires_grad_(False)
        self._temperature = temperature

    def kl(self, kind: KLKind, micro: MicroBatch, logits_NV: Tensor, logprobs_N: Tensor) -> Tensor:
        """KL(policy || reference) per token, shape (N,): `full` from the policy's logits, else from `logprobs_N`."""
        return self._exact(micro, logits_NV) if kind == "full" else self._estimate(kind, micro, logprobs_N)

    @torch.no_grad()
    def kl_of_batch(
        self, policy: PreTrainedModel, batch: StepBatch, logprobs_N: Tensor, kind: KLKind, *, max_tokens: int
    ) -> Tensor:
        """KL per token of the policy that sampled, shape (N,); `logprobs_N` are the rollout's log-probabilities."""
        kl_N = torch.zeros_like(logprobs_N)
        for micro in batch.micro_batches(range(len(batch)), max_tokens):
            if kind == "full":
                kl_N[micro.index_N] = self._exact(micro, written_logits(policy, micro, self._temperature))
            else:
                kl_N[micro.index_N] = self._estimate(kind, micro, logprobs_N[micro.index_N])
        return kl_N

    def _exact(self, micro: MicroBatch, logits_NV: Tensor) -> Tensor:
        return exact_kl(logits_NV, self._logits(micro))

    def _estimate(self, kind: KLEstimate, micro: MicroBatch, logprobs_N: Tensor) -> Tensor:
        return kl_estimate(logprobs_N, written_logprobs(self._logits(micro), micro), kind)

    @torch.no_grad()
    def _logits(self, micro: MicroBatch) -> Tensor:
        return written_logits(self.model, micro, self._temperature)
