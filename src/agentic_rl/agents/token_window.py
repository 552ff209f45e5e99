"""A part of a long list of tokens, without a copy of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, overload


class TokenWindow(Sequence[Any]):
    """The items of a list from one place to another; those past its end are the first ones of `more`."""

    __slots__ = ("_items", "_more", "_start", "_stop")

    def __init__(self, items: Sequence[Any], start: int, stop: int, more: Sequence[Any] = ()) -> None:
        self._items = items
        self._more = more
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
            return self._all()[place]
        where = self._start + range(len(self))[place]
        known = len(self._items)
        return self._items[where] if where < known else self._more[where - known]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and self._all() == list(other)

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __repr__(self) -> str:
        return f"TokenWindow({self._all()!r})"

    def _all(self) -> list[Any]:
        known = len(self._items)
        further = self._more[max(self._start - known, 0) : max(self._stop - known, 0)]
        return [*self._items[self._start : self._stop], *further]
