"""How the local backend lays samples of full length into the forward passes of an update."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from agentic_rl.config.memory.model import ModelSizes
from agentic_rl.config.memory.settings import Settings


@dataclass(frozen=True)
class MicroBatch:
    """The largest forward pass of an update."""

    rows: int
    length: int
    """Tokens of one row."""
    written: int
    """Tokens that the policy wrote and whose logits are kept, in all rows."""
    masked: bool
    """Whether rows hold several samples, so that attention needs a mask."""

    @property
    def tokens(self) -> int:
        """Tokens of the pass."""
        return self.rows * self.length


def largest_micro_batch(settings: Settings, model: ModelSizes) -> MicroBatch:
    """The micro batch of samples that all have the greatest length."""
    group, response = int(settings["rollout_n"]), settings.response
    prompt = settings.longest_sample - response
    limit = int(settings.own("ppo_max_token_len_per_gpu"))
    rows_of_group = _rows_of_group(group, prompt, response, limit, model)
    members = ceil(group / rows_of_group)
    length = prompt + members * response
    rows = min(max(1, limit // length), settings.mini_batch * rows_of_group)
    return MicroBatch(rows, length, rows * members * response, members > 1)


def _rows_of_group(group: int, prompt: int, response: int, limit: int, model: ModelSizes) -> int:
    """In how many rows samples of one prompt cost least: the same comparison as `backends.local.layout` makes."""
    worth = model.in_layers / (2 * model.layers * model.hidden)
    alone = prompt + response
    if not model.shares_prompts or worth <= 0:
        return group
    costs = {group: group * (alone + alone**2 / (2 * worth))}
    for rows in range(1, group):
        length = prompt + ceil(group / rows) * response
        if length <= limit:
            costs[rows] = rows * (length + length**2 / worth)
    return min(costs, key=costs.__getitem__)
