"""Bytes as people write and read them."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}{ib}": 1024**power for power, letter in enumerate("kmgt", 1) for ib in ("ib", "i", "b", "")}
_SIZE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([a-z]*)")


def parse_size(text: str) -> int:
    """Bytes from `64GiB`, `80GB`, `64G` or a plain number.

    Every unit is binary: a device sold with 80 GB has 80 GiB, and is meant by either.

    Raises:
        ValueError: it is none of these, or 0.
    """
    match = _SIZE.fullmatch(text.strip().lower())
    unit = _UNITS.get(match[2]) if match else None
    size = int(float(match[1]) * unit) if match and unit else 0
    if size < 1:
        raise ValueError(f"{text[:40]!r} is no amount of memory; write 64GiB, 80GB or a number of bytes")
    return size


def show_size(size: float) -> str:
    """`size` bytes with a binary unit and three digits."""
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 999.5:  # three digits of what is above are 1e+03
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.3g} TiB" if size < 999.5 else f"{size:,.0f} TiB"


def show_count(count: float) -> str:
    """`count` in words from a million on: `1.72 billion`."""
    for unit, word in ((10**12, "trillion"), (10**9, "billion"), (10**6, "million")):
        if count >= unit:
            return f"{count / unit:.3g} {word}"
    return f"{count:,.0f}"
