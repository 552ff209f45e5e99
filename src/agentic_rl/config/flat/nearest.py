"""The nearest values that would be valid, for remedies: a change of one key if one is enough, else of two."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.batches import KEYS, Layout
from agentic_rl.config.types import LARGEST

Change = Mapping[str, int]
"""Field of `Layout` -> its new value."""

_MOST = 1024
"""Candidates looked at, so that sizes nobody has cost no time either."""


def changed(layout: Layout, change: Change) -> Layout:
    """`layout` after `change`."""
    sizes: dict[str, Any] = {"written_mini" if field == "mini" else field: size for field, size in change.items()}
    return replace(layout, **sizes)


def multiples(value: int, step: int) -> list[int]:
    """The multiples of `step` just below and above `value` (itself, where it is one)."""
    below = value // step * step
    return [size for size in sorted({below, below if below == value else below + step}) if 0 < size <= LARGEST]


def divisors(value: int, near: int) -> Iterator[int]:
    """Divisors of `value`: the smallest ones, and those around `near`."""
    around = range(max(1, near - _MOST), min(value, near + _MOST) + 1)
    yield from (size for size in sorted({*range(1, min(value, _MOST) + 1), *around}) if value % size == 0)


def nearest(layout: Layout, changes: Iterable[Change], sound: Callable[[Layout], bool]) -> list[Change]:
    """The best of `changes` that make `layout` sound: few keys, then the nearest value below and above.

    Sizes that are powers of two come first where any is sound: devices share layers by 1, 2, 4 or 8.
    """
    good = [change for change in changes if sound(changed(layout, change))]
    usual = [change for change in good if all(map(_is_usual, change.items()))] or good
    fewest = min(map(len, usual), default=0)
    fields = next((frozenset(change) for change in usual if len(change) == fewest), frozenset[str]())
    alike = [change for change in usual if change.keys() == fields]
    old = sum(_old(layout, field) for field in fields)
    below = [change for change in alike if _total(change) <= old]
    above = [change for change in alike if change not in below]
    return [*sorted(below, key=_total)[-1:], *sorted(above, key=_total)[:1]]


def remedy(layout: Layout, changes: Iterable[Change]) -> str:
    """The changes in words: `global_batch_size: 4 or 8`."""
    listed = list(changes)
    names = {field: key.rpartition(".")[2] for field, key in KEYS[layout.backend].items()}
    if listed and all(change.keys() == listed[0].keys() and len(change) == 1 for change in listed):
        (field,) = listed[0]
        return f"{names[field]}: " + " or ".join(show(change[field]) for change in listed)
    return "; or ".join(
        " and ".join(f"{names[field]}: {show(size)}" for field, size in change.items()) for change in listed
    )


def _old(layout: Layout, field: str) -> int:
    size = getattr(layout, field)
    return int(size or 0)


def _total(change: Change) -> int:
    return sum(change.values())


def _is_usual(item: tuple[str, int]) -> bool:
    field, size = item
    return field not in ("tensor", "pipeline", "inference_tensor") or size & (size - 1) == 0
