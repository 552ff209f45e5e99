"""A part of a long list of tokens, without a copy of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload


class TokenWindow(Sequence[Any]):
    """The items of a list from one place to another; the list may grow behind them."""

    __slots__ = ("_items", "_start", "_stop")

    def __init__(self, items: Sequence[Any], start: int, stop: int) -> None:
        self._items = items
        self._start = start
        self._stop = stop

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self._items[self._start + one] for one in range(*place.indices(len(self)))]
        return self._items[self._start + range(len(self))[place]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __repr__(self) -> str:
        return f"TokenWindow({self[:]!r})"
