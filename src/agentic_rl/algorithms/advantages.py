"""Advantages: how much better a rollout was than its siblings.

Shape suffixes: B samples (a sample is one rollout), G groups (a group is the samples of one prompt).
"""

from __future__ import annotations

import torch
from torch import Tensor


def group_relative_advantages(
    rewards_B: Tensor,
    groups_B: Tensor,
    failed_B: Tensor | None = None,
    *,
    normalise_by_std: bool = True,
    epsilon: float = 1e-6,
) -> Tensor:
    """Advantage of each sample: its reward less its group's mean, over the group's standard deviation.

    GRPO (DeepSeekMath, https://arxiv.org/abs/2402.03300, section 4.1.2); without the deviation it is the form of
    Dr. GRPO (https://arxiv.org/abs/2503.20783). The deviation is the unbiased one and `epsilon` is added to it; a
    group of one has mean 0 and deviation 1, so that its advantage is its reward: the conventions of verl's
    `compute_grpo_outcome_advantage`. A group whose rewards are all equal gets exactly 0, whatever the rounding of
    its mean.

    Args:
        rewards_B: One reward per sample.
        groups_B: The group of each sample, any integers, in any order.
        failed_B: True where the rollout failed: such a sample is left out of its group's mean and deviation and
            gets advantage 0. None: no sample failed.
        normalise_by_std: Divide by the standard deviation.
        epsilon: Added to the standard deviation.

    Returns:
        One advantage per sample, in float32.
    """
    counted_B = torch.ones_like(groups_B, dtype=torch.bool) if failed_B is None else ~failed_B
    names_G, group_B = torch.unique(groups_B, return_inverse=True)
    groups = len(names_G)
    rewards_B = torch.where(counted_B, rewards_B.double(), 0)
    counts_G = _sum_by_group(counted_B.double(), group_B, groups)
    means_G = torch.where(counts_G > 1, _sum_by_group(rewards_B, group_B, groups) / counts_G.clamp(min=1), 0)
    informative_B = counted_B & ~_all_equal(rewards_B, counted_B, group_B, groups)[group_B]
    centered_B = torch.where(informative_B, rewards_B - means_G[group_B], 0)
    if not normalise_by_std:
        return centered_B.float()
    variances_G = _sum_by_group(centered_B.square(), group_B, groups) / (counts_G - 1).clamp(min=1)
    deviations_G = torch.where(counts_G > 1, variances_G.sqrt(), 1)
    return (centered_B / (deviations_G[group_B] + epsilon)).float()


def _sum_by_group(values_B: Tensor, group_B: Tensor, groups: int) -> Tensor:
    return torch.zeros(groups, dtype=values_B.dtype, device=values_B.device).index_add(0, group_B, values_B)


def _all_equal(rewards_B: Tensor, counted_B: Tensor, group_B: Tensor, groups: int) -> Tensor:
    """Whether a group has at least two counted members and all of them have one reward. Shape (G,)."""
    group_B, rewards_B = group_B[counted_B], rewards_B[counted_B]
    lowest_G = rewards_B.new_full((groups,), torch.inf).scatter_reduce(0, group_B, rewards_B, "amin")
    highest_G = rewards_B.new_full((groups,), -torch.inf).scatter_reduce(0, group_B, rewards_B, "amax")
    return (lowest_G == highest_G) & (torch.bincount(group_B, minlength=groups) > 1)
