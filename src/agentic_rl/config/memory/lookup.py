"""Where an estimate reads values and facts from."""

from __future__ import annotations

from typing import Any, Protocol


class Lookup(Protocol):
    """Values and facts by dotted key: a mapping, or the facts of a rule. A missing key raises LookupError."""

    def __getitem__(self, key: str, /) -> Any: ...

    def get(self, key: str, default: Any = None, /) -> Any:
        """The value of `key`, or `default`."""
        ...
