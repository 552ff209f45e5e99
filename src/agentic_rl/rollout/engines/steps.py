"""From rows with tokens to feed to the tensors of one step, and from one step to the next."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

import torch
from torch import Tensor

from agentic_rl.rollout.engines.cache import Cache, Pool
from agentic_rl.rollout.engines.decoder import Chunks, Heads, StepInput
from agentic_rl.rollout.engines.requests import Row
from agentic_rl.rollout.engines.sampling import Sampler
from agentic_rl.rollout.engines.tensors import integers


class Batch:
    """The rows of the cache, in the order of their slots, and the input of their next step."""

    def __init__(self, cache: Cache, device: torch.device) -> None:
        self.rows = list(cache.rows())
        self._device = device
        self._pools = [pool for pool in cache.pools if pool.rows]
        self._longest = [max(row.cached + row.take for row in pool.rows) for pool in self._pools]
        self.steady = all(row.take == row.pending for row in self.rows)
        """Every row has been read after this step, so that each samples a token and can go on with it."""
        self.sampler = Sampler([row.sampling for row in self.rows], device)
        self.input = self._first_input()

    def _tensor(self, values: list[int]) -> Tensor:
        return integers(values, self._device)

    def _first_input(self) -> StepInput:
        ends = [row.cached + row.take for row in self.rows]
        tokens = [row.tokens[end - 1] for row, end in zip(self.rows, ends, strict=True)]
        positions = self._tensor(ends) - 1
        heads = self._heads(positions)
        chunked = [(row, pool, slot) for pool in self._pools for slot, row in enumerate(pool.rows) if row.take > 1]
        if not chunked:
            return StepInput(self._tensor(tokens), positions, heads, [])
        groups: dict[tuple[int, int], list[tuple[Row, Pool, int]]] = {}
        for row, pool, slot in chunked:
            groups.setdefault((pool.capacity, (row.take - 1).bit_length()), []).append((row, pool, slot))
        chunks: list[Chunks] = []
        chunk_positions = [positions]
        for group in groups.values():
            part, where = self._chunks(group, len(tokens))
            chunks.append(part)
            chunk_positions.append(where)
            for row, _, _ in group:
                tokens += row.tokens[row.cached : row.cached + row.take - 1]
        return StepInput(self._tensor(tokens), torch.cat(chunk_positions), heads, chunks)

    def _heads(self, positions: Tensor) -> list[Heads]:
        starts = accumulate((len(pool.rows) for pool in self._pools), initial=0)
        return [
            self._pool_heads(pool, start, positions[start : start + len(pool.rows)], longest)
            for pool, start, longest in zip(self._pools, starts, self._longest, strict=False)
        ]

    def _pool_heads(self, pool: Pool, start: int, positions: Tensor, longest: int) -> Heads:
        slots = torch.arange(len(positions), device=self._device)
        entries = (slots * pool.slot_stride + positions)[:, None] + pool.entry_offsets
        behind = torch.arange(pool.capacity, device=self._device) > positions[:, None]
        bias = torch.zeros(behind.shape, dtype=pool.shape.dtype, device=self._device)
        bias = bias.masked_fill_(behind, -torch.inf).repeat_interleave(pool.shape.heads, 0)[:, None]
        return Heads(pool, start, entries, bias, longest)

    def _chunks(self, group: list[tuple[Row, Pool, int]], start: int) -> tuple[Chunks, Tensor]:
        """The part of a step that chunks of about one length make, and the positions of its tokens."""
        pool = group[0][1]
        slots = self._tensor([slot for _, _, slot in group])
        cached = self._tensor([row.cached for row, _, _ in group])
        takes = self._tensor([row.take - 1 for row, _, _ in group])
        first = takes.cumsum(0) - takes
        columns = torch.arange(max(row.take - 1 for row, _, _ in group), device=self._device)
        padded = start + first[:, None] + torch.minimum(columns, takes[:, None] - 1)
        row_of_token = torch.repeat_interleave(torch.arange(len(group), device=self._device), takes)
        column_of_token = torch.arange(len(row_of_token), device=self._device) - first[row_of_token]
        positions = cached[row_of_token] + column_of_token
        entries = (slots[row_of_token] * pool.slot_stride + positions)[:, None] + pool.entry_offsets
        places = row_of_token * len(columns) + column_of_token
        length = max(row.cached + row.take - 1 for row, _, _ in group)
        behind = torch.arange(length, device=self._device) > (cached[:, None] + columns)[:, :, None]
        bias = torch.zeros(behind.shape, dtype=pool.shape.dtype, device=self._device)
        bias = bias.masked_fill_(behind, -torch.inf)[:, None]
        return Chunks(pool, start, entries, slots, padded.flatten(), places, bias), positions

    def append(self, tokens: list[int], logprobs: list[float]) -> list[Row]:
        """Give every row that has been read what it sampled, and return the rows that end with it."""
        ended = []
        for row, token, logprob in zip(self.rows, tokens, logprobs, strict=True):
            row.cached += row.take
            row.take = 1
            if row.cached == len(row.tokens) and row.append(token, logprob):
                ended.append(row)
        return ended

    def advance(self, sampled: Tensor) -> None:
        """Make the input of the next step, in which every row feeds what it sampled; none may end, all must fit."""
        step = self.input
        positions = self.next_positions
        for heads in step.heads:
            heads.entries += 1
            heads.length += 1
            part = positions[heads.start : heads.stop]
            heads.bias.view(len(part), -1, heads.pool.capacity).scatter_(
                2, part[:, None, None].expand(-1, heads.pool.shape.heads, -1), 0.0
            )
        self.input = StepInput(sampled, positions, step.heads, [])

    @property
    def next_positions(self) -> Tensor:
        """Where the sampled tokens belong in their sequences, shape (R,)."""
        return self.input.positions[: len(self.rows)] + 1

    def fits(self) -> bool:
        """Whether every row has room for one more token where it is."""
        return all(heads.length < heads.pool.capacity for heads in self.input.heads)


def take_tokens(rows: Iterable[Row], budget: int) -> None:
    """Share the tokens of a step among rows, each at least one."""
    rows = list(rows)
    budget -= len(rows)
    for row in rows:
        row.take = 1 + min(row.pending - 1, budget)
        budget -= row.take - 1
