"""What the model thinks of the tokens that the policy wrote: logits, log-probabilities.

Shape suffixes: N tokens that the policy wrote, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from agentic_rl.backends.local.batches import StepBatch
from agentic_rl.backends.local.layout import MicroBatch


def written_logits(model: PreTrainedModel, micro: MicroBatch, temperature: float = 1.0) -> Tensor:
    """Logits over `temperature` where the policy's tokens are predicted, shape (N, V).

    The hidden states of the other positions are dropped on the way into the language-model head, so that the
    largest matrix product and the logits' memory are spent on the tokens that count. What the model does after its
    head (scaling, soft caps) still happens.
    """

    def keep_predicting(_head: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return (inputs[0].flatten(0, 1).index_select(0, micro.predicting_N), *inputs[1:])

    head = model.get_output_embeddings()
    hook = head.register_forward_pre_hook(keep_predicting)
    try:
        output = model(
            input_ids=micro.input_ids_RL,
            position_ids=micro.positions_RL,
            attention_mask=micro.mask_R1LL,
            use_cache=False,
        )
    finally:
        hook.remove()
    logits_NV: Tensor = output.logits.float()
    return logits_NV if temperature == 1.0 else logits_NV / temperature


def written_logprobs(logits_NV: Tensor, micro: MicroBatch) -> Tensor:
    """Log-probabilities of the policy's tokens, shape (N,)."""
    return -nn.functional.cross_entropy(logits_NV, micro.targets_N, reduction="none")


@torch.no_grad()
def logprobs_of(
    model: PreTrainedModel, batch: StepBatch, rows: Iterable[int], *, max_tokens: int, temperature: float
) -> Tensor:
    """Log-probabilities of the tokens that the policy wrote in the samples `rows`, 0 for the others'. Shape (N,)."""
    logprobs_N = torch.zeros(len(batch.sample_N), device=batch.sample_N.device)
    for micro in batch.micro_batches(rows, max_tokens):
        logprobs_N[micro.index_N] = written_logprobs(written_logits(model, micro, temperature), micro)
    return logprobs_N
