"""Which row in the cache has read the beginning of a prompt already."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from agentic_rl.rollout.engines.requests import Row

_BLOCK = 32  # shorter beginnings, a chat template's first words, are not worth a copy


class PrefixIndex:
    """Beginnings of the rows in the cache: of whole blocks, and of the whole prompt but its last token.

    The rows of one task share their prompt, those of one agent its system prompt and its tools.
    """

    def __init__(self) -> None:
        self._rows: dict[int, Row] = {}

    def add(self, row: Row) -> None:
        """Offer what the row reads, where no other row offers it."""
        for key, _ in _keys(row.tokens):
            self._rows.setdefault(key, row)

    def find(self, tokens: list[int]) -> tuple[Row, int] | None:
        """The row with the longest beginning of `tokens`, and its length; that row may still have to read it."""
        for key, length in reversed(list(_keys(tokens))):
            row = self._rows.get(key)
            if row is not None and row.tokens[:length] == tokens[:length]:  # keys may collide
                return row, length
        return None

    def keep(self, stays: Callable[[Row], bool], replaced: dict[Row, Row]) -> None:
        """Forget rows that leave the cache, and put others in the place of those that they continue."""
        rows = {key: replaced.get(row, row) for key, row in self._rows.items()}
        self._rows = {key: row for key, row in rows.items() if stays(row)}

    def clear(self) -> None:
        """Forget all."""
        self._rows.clear()


def _keys(tokens: list[int]) -> Iterator[tuple[int, int]]:
    """Marks of the beginnings of `tokens` and their lengths, each made from the one before."""
    unread = len(tokens) - 1
    key = 0
    for start in range(0, unread, _BLOCK):
        end = min(start + _BLOCK, unread)
        key = hash((key, *tokens[start:end]))
        yield key, end
