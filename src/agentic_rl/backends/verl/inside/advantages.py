"""What verl needs to know of groups before it computes advantages. Needs verl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from verl.trainer.ppo.core_algos import compute_grpo_outcome_advantage

from agentic_rl.backends.verl.inside.measures import Summary, session_of


def groups_of(keys: Sequence[str], uids: Sequence[str], rollouts: Mapping[tuple[str, str], Summary]) -> list[str]:
    """The group of each sample: verl's, but for those of failed rollouts, which are alone.

    Their masks are 0, so that they teach nothing; alone they don't move the mean and the deviation of others either.
    """
    groups = []
    for key, uid in zip(keys, uids, strict=True):
        prompt, session, _ = session_of(key)
        failed = bool(rollouts[prompt, session]["error"])
        groups.append(f"{uid}-failed-{session}" if failed else uid)
    return groups


def normalised_rewards(
    keys: Sequence[str], groups: Sequence[str], rewards: Sequence[float], *, by_deviation: bool
) -> list[float]:
    """The reward of each sample's trajectory, normalised in its group as GRPO does it.

    A trajectory counts once in its group, however many samples it gave.

    Args:
        keys: verl's, one for each sample.
        groups: as `groups_of` gives them.
        rewards: the trajectory's, in each of its samples.
        by_deviation: whether to divide by the standard deviation (`norm_adv_by_std_in_grpo`).
    """
    first: dict[tuple[str, str], int] = {}
    for place, key in enumerate(keys):
        first.setdefault(session_of(key)[:2], place)
    places = list(first.values())
    normalised, _ = compute_grpo_outcome_advantage(
        torch.tensor([[rewards[place]] for place in places], dtype=torch.float32),
        torch.ones(len(places), 1),
        np.array([groups[place] for place in places], dtype=object),
        norm_adv_by_std_in_grpo=by_deviation,
    )
    of_session = dict(zip(first, normalised[:, 0].tolist(), strict=True))
    return [of_session[session_of(key)[:2]] for key in keys]
