"""Rollouts as tensors: samples, the batch of a training step, mini batches and micro batches.

A mini batch is one optimizer update, a micro batch one forward pass; how the work is split into micro batches does
not change the update.

Shape suffixes: B samples, T trajectories, N tokens that the policy wrote (flat, sample after sample).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain, compress

import torch
from torch import Tensor

from agentic_rl.backends.local.layout import Layout, Member, MicroBatch


@dataclass
class Sample:
    """One sequence of a rollout, ready to learn from; most rollouts have just one."""

    tokens: list[int]
    """Prompt and response; there is at least one token of prompt."""
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
    trajectory: int | None = None
    """The number of the trajectory that this is a part of. Parts share its reward, and its group's statistics count it
    once. None: the sample is a whole one."""


class StepBatch:
    """All samples of one training step as flat tensors; of a failed sample no token counts as written."""

    def __init__(self, samples: Sequence[Sample], layout: Layout, device: torch.device) -> None:
        self.samples = samples
        self._layout = layout
        self._device = device
        self._positions = _written_positions(samples)
        written = [len(positions) for positions in self._positions]
        starts = [0, *accumulate(written)]
        tokens = _split_tensor([sample.tokens for sample in samples], torch.long)
        self._members = [
            Member(row, sample.prompt_length, positions, start)
            for row, sample, positions, start in zip(tokens, samples, self._positions, starts, strict=False)
        ]
        self.written_B = torch.tensor(written, dtype=torch.long, device=device)
        """How many tokens the policy wrote in each sample."""
        self.sample_N = torch.repeat_interleave(torch.arange(len(samples), device=device), self.written_B)
        """The sample of each token that the policy wrote."""
        self.rewards_B = torch.tensor([sample.reward for sample in samples], dtype=torch.float64, device=device)
        self.groups_B = torch.tensor([sample.group for sample in samples], dtype=torch.long, device=device)
        self.failed_B = torch.tensor([sample.failed for sample in samples], dtype=torch.bool, device=device)
        numbers, firsts = _trajectories(samples)
        self.trajectory_B = torch.tensor(numbers, dtype=torch.long, device=device)
        """The trajectory of each sample, from 0."""
        self.first_T = torch.tensor(firsts, dtype=torch.long, device=device)
        """The first sample of each trajectory."""

    def __len__(self) -> int:
        return len(self.samples)

    def sampled_logprobs(self) -> Tensor | None:
        """Log-probabilities from the rollout, shape (N,); None when a sample lacks them."""
        learned = [sample for sample in self.samples if not sample.failed]
        if any(1 in sample.mask and not sample.logprobs for sample in learned):
            return None
        logprobs = [logprob for sample in learned for logprob in compress(sample.logprobs, sample.mask)]
        return torch.tensor(logprobs, dtype=torch.float32, device=self._device)

    def micro_batches(self, rows: Iterable[int], max_tokens: int) -> Iterator[MicroBatch]:
        """The samples `rows` in batches of at most `max_tokens` padded tokens (a longer sample stands alone).

        Samples in which the policy wrote nothing are left out.
        """
        members = [self._members[row] for row in rows if len(self._positions[row])]
        for micro in self._layout.micro_batches(members, max_tokens):
            yield micro.to(self._device)


def mini_batches(groups: Sequence[int], size: int, generator: torch.Generator) -> list[list[int]]:
    """Split samples into shuffled mini batches of at most `size` groups, as even as possible.

    Args:
        groups: The group of each sample. A group is not split: its advantages are relative to each other, and its
            samples share the work on their prompt.
        size: Groups (prompts) of a mini batch.
        generator: Shuffles the groups; on the CPU.

    Returns:
        The numbers of the samples of each mini batch.
    """
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)
    names = list(members)
    order = torch.randperm(len(names), generator=generator)
    parts = order.tensor_split(max(1, -(-len(names) // size)))
    return [[row for place in part.tolist() for row in members[names[place]]] for part in parts]


def _trajectories(samples: Sequence[Sample]) -> tuple[list[int], list[int]]:
    """The trajectory of each sample, and the first sample of each trajectory."""
    first: dict[tuple[str, int], int] = {}
    numbers: list[int] = []
    firsts: list[int] = []
    for row, sample in enumerate(samples):
        name = ("whole", row) if sample.trajectory is None else ("part of", sample.trajectory)
        if name not in first:
            first[name] = len(firsts)
            firsts.append(row)
        numbers.append(first[name])
    return numbers, firsts


def _written_positions(samples: Sequence[Sample]) -> list[Tensor]:
    """Positions in each sample of the tokens that the policy wrote and can learn from."""
    masks = _split_tensor([[] if sample.failed else sample.mask for sample in samples], torch.bool)
    return [mask.nonzero()[:, 0] + sample.prompt_length for mask, sample in zip(masks, samples, strict=True)]


def _split_tensor(lists: Sequence[Sequence[int]], dtype: torch.dtype) -> Sequence[Tensor]:
    """One tensor for each list, all of one storage: much cheaper than one by one."""
    flat = torch.tensor(list(chain.from_iterable(lists)), dtype=dtype)
    parts: Sequence[Tensor] = flat.split([len(row) for row in lists])
    return parts
