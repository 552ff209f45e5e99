"""Caches of sessions between two calls, out of the batch's way."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Parked:
    """What a session's last call left."""

    tokens: list[int]
    kv: Tensor
    """Shape (layers, 2, K, tokens, D)."""


class SessionStore:
    """At most `capacity` bytes of caches; when more come, the oldest go, and their sessions read again."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._size = 0
        self._parked: dict[str, Parked] = {}

    @property
    def size(self) -> int:
        """Bytes held."""
        return self._size

    def __len__(self) -> int:
        return len(self._parked)

    def put(self, session: str, parked: Parked) -> None:
        """Keep a session's cache, in place of what it had."""
        self.take(session)
        self._parked[session] = parked
        self._size += parked.kv.nbytes
        while self._size > self._capacity:
            self.take(next(iter(self._parked)))

    def take(self, session: str) -> Parked | None:
        """Take a session's cache out."""
        parked = self._parked.pop(session, None)
        if parked is not None:
            self._size -= parked.kv.nbytes
        return parked

    def clear(self) -> None:
        """Forget all."""
        self._parked.clear()
        self._size = 0


def common_prefix(a: list[int], b: list[int]) -> int:
    """How many first tokens two sequences share."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:  # a[:low] and b[:low] are equal, a[:high] and b[:high] differ
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low
