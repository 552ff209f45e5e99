"""From losses of tokens to one loss: the weight of each token in its mini batch.

Shape suffixes: B samples.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

LossAggregation = Literal["token-mean", "seq-mean-token-sum", "seq-mean-token-mean"]


def token_weights(lengths_B: Tensor, mode: LossAggregation) -> Tensor:
    """Weight of every token of a sample, shape (B,): the aggregated loss is the sum of weight times token loss.

    `lengths_B` counts the tokens that the policy wrote in each sample; samples without one are not counted.
    `token-mean` gives all tokens of the mini batch one weight (DAPO, https://arxiv.org/abs/2503.14476),
    `seq-mean-token-mean` gives all samples one weight (GRPO, https://arxiv.org/abs/2402.03300),
    `seq-mean-token-sum` averages the samples' sums. The weights are those of verl's `agg_loss`. Because they
    belong to the mini batch, splitting it into micro batches changes nothing.
    """
    samples = (lengths_B > 0).sum().clamp(min=1)
    if mode == "token-mean":
        return torch.full_like(lengths_B, 1.0, dtype=torch.float32) / lengths_B.sum().clamp(min=1)
    if mode == "seq-mean-token-sum":
        return torch.full_like(lengths_B, 1.0, dtype=torch.float32) / samples
    return 1.0 / (lengths_B.clamp(min=1) * samples)
