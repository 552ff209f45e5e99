"""The KV cache: rows of like length side by side, so that attention reads them without copying.

Shapes: S slots, H key-value heads, C capacity in tokens, D head size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch

from agentic_rl.rollout.engines.requests import Row
from agentic_rl.rollout.engines.tensors import zeros

_SMALLEST_CAPACITY = 64
_FEWEST_SLOTS = 16
_KEEP_BYTES = 32 << 20


@dataclass(frozen=True)
class CacheShape:
    """What one token needs in the cache."""

    layers: int
    heads: int
    head_dim: int
    dtype: torch.dtype
    device: torch.device


class Pool:
    """Rows that all fit into one capacity; those in use are the slots 0 to len(rows) - 1, without a gap."""

    def __init__(self, shape: CacheShape, capacity: int) -> None:
        self.shape = shape
        self.capacity = capacity
        self.rows: list[Row] = []
        self.free()

    def free(self) -> None:
        """Give the memory back; no row may be in use."""
        self._allocate(0)

    def _allocate(self, slots: int) -> None:
        s = self.shape
        # Zeros, as attention multiplies what lies behind a row's end by a probability of 0: it must be finite.
        self.kv = zeros((s.layers, 2, slots, s.heads, self.capacity, s.head_dim), s.dtype, s.device)
        """Shape (layers, 2 for keys and values, S, H, C, D)."""
        self.slots = slots
        self.entries = [layer.view(-1, s.head_dim) for layer in self.kv]
        """Per layer all vectors, shape (2 * S * H * C, D): what `entry_offsets` counts."""
        self.keys = [layer[0].view(-1, self.capacity, s.head_dim) for layer in self.kv]
        """Per layer, shape (S * H, C, D)."""
        self.values = [layer[1].view(-1, self.capacity, s.head_dim) for layer in self.kv]
        heads = torch.arange(s.heads, device=s.device) * self.capacity
        self.entry_offsets = torch.cat((heads, heads + slots * s.heads * self.capacity))
        """Where the entries of a token's keys and values are, counted from its first one. Shape (2 * H,)."""
        self.slot_stride = s.heads * self.capacity

    def add(self, rows: Sequence[Row]) -> range:
        """Give slots to rows; the slots double when they run out, so that copying stays linear in the rows."""
        first = len(self.rows)
        self.rows.extend(rows)
        if len(self.rows) > self.slots:
            old = self.kv
            self._allocate(max(_FEWEST_SLOTS, 1 << (len(self.rows) - 1).bit_length()))
            longest = max((row.cached for row in self.rows[:first]), default=0)
            self.kv[:, :, :first, :, :longest] = old[:, :, :first, :, :longest]
        return range(first, len(self.rows))

    def keep(self, stays: Callable[[Row], bool]) -> None:
        """Drop the rows that don't stay and move rows from the end into the gaps."""
        kept = sum(map(stays, self.rows))
        gaps = [slot for slot in range(kept) if not stays(self.rows[slot])]
        movers = [slot for slot in range(kept, len(self.rows)) if stays(self.rows[slot])]
        for gap, mover in zip(gaps, movers, strict=True):
            copy_slot(self, mover, self, gap, self.rows[mover].cached)
            self.rows[gap] = self.rows[mover]
        del self.rows[kept:]


def copy_slot(source: Pool, from_slot: int, target: Pool, to_slot: int, length: int) -> None:
    """Copy the first `length` tokens of a slot; many in turn take a fifth of the time of one indexing."""
    target.kv[:, :, to_slot, :, :length].copy_(source.kv[:, :, from_slot, :, :length])


class Cache:
    """Pools of doubling capacity: no row holds or reads more than twice what it needs (64 tokens at least)."""

    def __init__(self, shape: CacheShape, max_model_len: int) -> None:
        capacities = [min(_SMALLEST_CAPACITY, max_model_len)]
        while capacities[-1] < max_model_len:
            capacities.append(min(2 * capacities[-1], max_model_len))
        self.pools = [Pool(shape, capacity) for capacity in capacities]

    def pool_for(self, tokens: int) -> Pool:
        """The smallest pool whose rows can hold `tokens`."""
        return next(pool for pool in self.pools if pool.capacity >= tokens)

    def rows(self) -> Iterable[Row]:
        """All rows, in the order of their slots."""
        return (row for pool in self.pools for row in pool.rows)

    def slots(self) -> dict[Row, tuple[Pool, int]]:
        """Where every row is."""
        return {row: (pool, slot) for pool in self.pools for slot, row in enumerate(pool.rows)}

    def add(self, rows: list[Row], room: int) -> dict[Row, tuple[Pool, int]]:
        """Give slots to new rows, in pools with room for up to `room` tokens more; where every row is then."""
        chosen: dict[Pool, list[Row]] = {}
        for row in rows:
            tokens = min(len(row.tokens) + room, row.limit)
            chosen.setdefault(self.pool_for(tokens), []).append(row)
        for pool, new in chosen.items():
            pool.add(new)
        return self.slots()

    def replace(self, rows: dict[Row, Row]) -> None:
        """Put rows in the place of others."""
        for pool in self.pools:
            pool.rows = [rows.get(row, row) for row in pool.rows]

    def clear(self) -> None:
        """Drop all rows and give the memory back, small pools excepted: to get new memory takes longer than a step."""
        for pool in self.pools:
            pool.rows.clear()
            if pool.kv.nbytes > _KEEP_BYTES:
                pool.free()

    def keep(self, stays: Callable[[Row], bool]) -> None:
        """Drop the rows that don't stay."""
        for pool in self.pools:
            if not all(map(stays, pool.rows)):
                pool.keep(stays)

    def make_room(self) -> None:
        """Move every row that will outgrow its pool in the coming step to a larger one."""
        for pool in self.pools:
            outgrown = [slot for slot, row in enumerate(pool.rows) if row.cached + row.take > pool.capacity]
            if outgrown:
                self._move(pool, outgrown)

    def _move(self, pool: Pool, slots: list[int]) -> None:
        targets: dict[Pool, list[int]] = {}
        for slot in slots:
            row = pool.rows[slot]
            targets.setdefault(self.pool_for(row.cached + row.take), []).append(slot)
        for target, chosen in targets.items():
            rows = [pool.rows[slot] for slot in chosen]
            for slot, row, new in zip(chosen, rows, target.add(rows), strict=True):
                copy_slot(pool, slot, target, new, row.cached)
        gone = {pool.rows[slot] for slot in slots}
        pool.keep(lambda row: row not in gone)
