"""Rollouts as tensors: samples, mini batches (one optimizer update) and micro batches (one forward pass).

Shape suffixes: B samples, N tokens that the policy wrote (flat, sample after sample), L padded length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


@dataclass
class Sample:
    """One rollout, ready to learn from."""

    tokens: list[int]
    """Prompt and response."""
    prompt_length: int
    """The tokens before the policy's first one."""
    mask: list[int]
    """For each token of the response: 1 where the policy wrote it, 0 where it was shown it."""
    logprobs: list[float] = field(default_factory=list)
    """For each token of the response its log-probability when it was sampled; empty: unknown, to be recomputed."""
    reward: float = 0.0
    group: int = 0
    """The prompt's number; rollouts of one prompt share it."""
    failed: bool = False
    """The rollout broke: left out of its group's statistics and not learned from."""


@dataclass(frozen=True)
class MicroBatch:
    """Samples for one forward pass, right-padded: with causal attention no token sees the padding."""

    input_ids_BL: Tensor
    predicting_N: Tensor
    """Where in the flattened (B * L) positions the tokens that the policy wrote are predicted."""
    targets_N: Tensor
    """The tokens that the policy wrote."""
    index_N: Tensor
    """Their places among all tokens that the policy wrote, in the order of `StepBatch`."""


class StepBatch:
    """All samples of one training step as flat tensors; of a failed sample no token counts as written."""

    def __init__(self, samples: Sequence[Sample], pad_id: int, device: torch.device) -> None:
        self.samples = samples
        self._pad_id = pad_id
        self._device = device
        self._positions = [_written_positions(sample) for sample in samples]
        tokens = [torch.tensor(sample.tokens) for sample in samples]
        self._targets = [row[positions] for row, positions in zip(tokens, self._positions, strict=True)]
        # What comes after the last token to be predicted, that token included, is of no use as an input.
        self._inputs = [
            row[: places[-1] if len(places) else 0] for row, places in zip(tokens, self._positions, strict=True)
        ]
        self._lengths = [len(row) for row in self._inputs]
        written = [len(positions) for positions in self._positions]
        self._starts = [0, *accumulate(written)]
        self.written_B = torch.tensor(written, device=device)
        """How many tokens the policy wrote in each sample."""
        self.sample_N = torch.repeat_interleave(torch.arange(len(samples), device=device), self.written_B)
        """The sample of each token that the policy wrote."""
        self.rewards_B = torch.tensor([sample.reward for sample in samples], dtype=torch.float64, device=device)
        self.groups_B = torch.tensor([sample.group for sample in samples], device=device)
        self.failed_B = torch.tensor([sample.failed for sample in samples], device=device)

    def __len__(self) -> int:
        return len(self.samples)

    def sampled_logprobs(self) -> Tensor | None:
        """Log-probabilities from the rollout, shape (N,); None when a sample lacks them."""
        parts = []
        for sample, positions in zip(self.samples, self._positions, strict=True):
            if len(positions) and not sample.logprobs:
                return None
            logprobs = torch.tensor(sample.logprobs, dtype=torch.float32)
            parts.append(logprobs[positions - sample.prompt_length])
        return torch.cat(parts).to(self._device)

    def micro_batches(self, rows: Iterable[int], max_tokens: int) -> Iterator[MicroBatch]:
        """The samples `rows` in batches of at most `max_tokens` padded tokens (a longer sample stands alone).

        Samples without a written token are left out. Sorted by length, so that little is padded: the fastest
        layout measured on CPU, faster than packing.
        """
        batch: list[int] = []
        for row in sorted((row for row in rows if len(self._positions[row])), key=self._lengths.__getitem__):
            if batch and (len(batch) + 1) * self._lengths[row] > max_tokens:
                yield self._micro_batch(batch)
                batch = []
            batch.append(row)
        if batch:
            yield self._micro_batch(batch)

    def _micro_batch(self, rows: list[int]) -> MicroBatch:
        input_ids_BL = pad_sequence([self._inputs[row] for row in rows], True, self._pad_id)
        length = input_ids_BL.shape[1]
        predicting = [self._positions[row] - 1 + place * length for place, row in enumerate(rows)]
        index = [torch.arange(self._starts[row], self._starts[row + 1]) for row in rows]
        return MicroBatch(
            input_ids_BL=input_ids_BL.to(self._device),
            predicting_N=torch.cat(predicting).to(self._device),
            targets_N=torch.cat([self._targets[row] for row in rows]).to(self._device),
            index_N=torch.cat(index).to(self._device),
        )


def mini_batches(count: int, size: int, generator: torch.Generator) -> list[list[int]]:
    """Split `count` samples into shuffled mini batches of at most `size`, as even as possible."""
    order = torch.randperm(count, generator=generator)
    return [part.tolist() for part in order.tensor_split(max(1, -(-count // size)))]


def _written_positions(sample: Sample) -> Tensor:
    """Positions in the sample of the tokens that the policy wrote and can learn from."""
    if sample.failed:
        return torch.empty(0, dtype=torch.long)
    return torch.tensor(sample.mask, dtype=torch.bool).nonzero().flatten() + sample.prompt_length
