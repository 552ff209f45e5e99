"""How samples lie in the tensors of a forward pass.

Samples with equal prompts may stand in one row: the prompt once, the responses behind it, and an attention mask by
which a response sees the prompt and itself. Rows are padded on the right, where a causal model's tokens can't see it.

Shape suffixes: R rows, L padded length, N tokens that the policy wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import PreTrainedModel

SHARING_MODELS = ("llama", "qwen2", "qwen3")
"""Model types whose attention is what the mask says and nothing else, and whose positions are what they are told."""
PADDING_BLOCK = -1
FEW_TOKENS = 1024
"""A forward pass of fewer is dominated by its fixed cost."""
MAX_PADDING = 1.15
"""Padded tokens per token above which a new micro batch begins."""


@dataclass(frozen=True)
class Member:
    """One sample: its tokens, its prompt's length, and where the policy wrote."""

    tokens: Tensor
    prompt_length: int
    positions: Tensor
    """Of the tokens that the policy wrote; at least one, ascending."""
    start: int
    """The place of the first of them among all of the step."""

    @cached_property
    def length(self) -> int:
        """Tokens of input: up to the last token to be predicted and without it."""
        return int(self.positions[-1])

    @cached_property
    def prompt(self) -> tuple[int, ...]:
        """The prompt's tokens."""
        return tuple(self.tokens[: self.prompt_length].tolist())


@dataclass(frozen=True)
class MicroBatch:
    """What one forward pass takes, and what of its output counts."""

    input_ids_RL: Tensor
    positions_RL: Tensor
    """Each token's position in its sample; one row where all rows have the same."""
    mask_R1LL: Tensor | None
    """True where a token is seen; None: everything before."""
    predicting_N: Tensor
    """Where in the flattened (R * L) places the tokens that the policy wrote are predicted."""
    targets_N: Tensor
    """The tokens that the policy wrote."""
    index_N: Tensor
    """Their places among all tokens of the step that the policy wrote."""

    def to(self, device: torch.device) -> MicroBatch:
        """The same on another device."""
        if device == self.input_ids_RL.device:
            return self
        moved = {name: value.to(device) for name, value in vars(self).items() if value is not None}
        return replace(self, **moved)


class Layout:
    """Puts samples into rows and rows into micro batches.

    Args:
        pad_id: Any token; it is never seen.
        attention_worth: The length at which the attention of a token costs as much as the rest of the model: rows
            are shared as far as longer rows don't cost more than they save. None: rows are not shared.
    """

    def __init__(self, pad_id: int, attention_worth: float | None = None) -> None:
        self._pad_id = pad_id
        self._attention_worth = attention_worth

    @classmethod
    def of(cls, model: PreTrainedModel, pad_id: int) -> Layout:
        """The layout that suits a model."""
        config = model.config
        windows = any(kind != "full_attention" for kind in getattr(config, "layer_types", None) or ())
        if config.model_type not in SHARING_MODELS or windows or config._attn_implementation != "sdpa":
            return cls(pad_id)
        weights = sum(parameter.numel() for parameter in model.base_model.parameters())
        weights -= sum(parameter.numel() for parameter in model.get_input_embeddings().parameters())
        return cls(pad_id, weights / (2 * config.num_hidden_layers * config.hidden_size))

    def micro_batches(self, members: Sequence[Member], max_tokens: int) -> Iterator[MicroBatch]:
        """Batches of at most `max_tokens` padded tokens; a longer sample stands alone.

        Sorted by length, so that little is padded: on CPUs that was faster than packing samples end to end.
        """
        batch: list[Sequence[Member]] = []
        tokens = 0
        for row in sorted(self._rows(members, max_tokens), key=_row_length):
            length = _row_length(row)
            padded = (len(batch) + 1) * length
            wasteful = tokens >= FEW_TOKENS and padded > MAX_PADDING * (tokens + length)
            if batch and (padded > max_tokens or wasteful):
                yield _micro_batch(batch, self._pad_id)
                batch, tokens = [], 0
            batch.append(row)
            tokens += length
        if batch:
            yield _micro_batch(batch, self._pad_id)

    def _rows(self, members: Sequence[Member], max_tokens: int) -> Iterator[Sequence[Member]]:
        """Members with equal prompts, as many in a row as pay and fit."""
        worth = self._attention_worth
        if worth is None:
            yield from ([member] for member in members)
            return
        siblings: dict[tuple[int, ...], list[Member]] = {}
        for member in sorted(members, key=lambda member: member.length):
            siblings.setdefault(member.prompt, []).append(member)
        for family in siblings.values():
            size = -(-len(family) // _rows_for(family, worth, max_tokens))
            yield from (family[first : first + size] for first in range(0, len(family), size))


def _rows_for(family: Sequence[Member], attention_worth: float, max_tokens: int) -> int:
    """In how many rows members with one prompt cost least."""
    count, prompt, longest = len(family), family[0].prompt_length, family[-1].length
    # Without a mask the kernel skips the half of the attention that is not causal.
    costs = {count: count * (longest + longest**2 / (2 * attention_worth))}
    for rows in range(1, count):
        length = prompt + -(-count // rows) * (longest - prompt)
        if length <= max_tokens:
            costs[rows] = rows * (length + length**2 / attention_worth)
    return min(costs, key=costs.__getitem__)


def _row_length(row: Sequence[Member]) -> int:
    prompt = row[0].prompt_length
    return prompt + sum(member.length - prompt for member in row)


def _micro_batch(rows: Sequence[Sequence[Member]], pad_id: int) -> MicroBatch:
    input_ids_RL = pad_sequence([_tokens(row) for row in rows], True, pad_id)
    length = input_ids_RL.shape[1]
    plain = all(len(row) == 1 for row in rows)
    if plain:
        positions_RL, mask_R1LL = torch.arange(length)[None], None
    else:
        positions_RL = pad_sequence([_positions(row) for row in rows], True, 0)
        mask_R1LL = _mask(pad_sequence([_blocks(row) for row in rows], True, PADDING_BLOCK))
    members = [member for row in rows for member in row]
    return MicroBatch(
        input_ids_RL=input_ids_RL,
        positions_RL=positions_RL,
        mask_R1LL=mask_R1LL,
        predicting_N=torch.cat([_predicting(row) + number * length for number, row in enumerate(rows)]),
        targets_N=torch.cat([member.tokens[member.positions] for member in members]),
        index_N=torch.cat([torch.arange(len(member.positions)) + member.start for member in members]),
    )


def _tokens(row: Sequence[Member]) -> Tensor:
    prompt = row[0].prompt_length
    return torch.cat([row[0].tokens[:prompt], *(member.tokens[prompt : member.length] for member in row)])


def _positions(row: Sequence[Member]) -> Tensor:
    prompt = row[0].prompt_length
    return torch.cat([torch.arange(prompt), *(torch.arange(prompt, member.length) for member in row)])


def _blocks(row: Sequence[Member]) -> Tensor:
    """0 for the prompt, then the number of the member that a token belongs to."""
    prompt = row[0].prompt_length
    lengths = [prompt, *(member.length - prompt for member in row)]
    return torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))


def _predicting(row: Sequence[Member]) -> Tensor:
    """The places in the row whose outputs predict what the policy wrote, member after member."""
    prompt = row[0].prompt_length
    places, begin = [], prompt
    for member in row:
        before = member.positions - 1
        places.append(torch.where(before < prompt, before, before - prompt + begin))
        begin += member.length - prompt
    return torch.cat(places)


def _mask(blocks_RL: Tensor) -> Tensor:
    """A token sees what stands before it in the prompt and in its own response. Padding sees padding and prompt."""
    causal_LL = torch.ones(blocks_RL.shape[1], blocks_RL.shape[1], dtype=torch.bool).tril()
    same_RLL = blocks_RL[:, :, None] == blocks_RL[:, None, :]
    prompt_R1L = (blocks_RL == 0)[:, None, :]
    return (causal_LL & (same_RLL | prompt_R1L))[:, None]
