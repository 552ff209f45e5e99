"""What was encoded lately: the same prompts and tool results come again and again."""

from __future__ import annotations

from collections import OrderedDict

Ids = tuple[int, ...]
Key = tuple[object, str | bytes]
"""What the ids are for, and the text."""


class TextCache:
    """The token ids of texts, those used last, up to a number of characters in all."""

    def __init__(self, characters: int = 1 << 21) -> None:
        self._capacity = characters
        self.characters = 0
        """Of all texts that are remembered."""
        self._ids: OrderedDict[Key, Ids] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ids)

    def find(self, key: Key) -> Ids | None:
        """Return the ids of a text, where they are known."""
        ids = self._ids.get(key)
        if ids is not None:
            self._ids.move_to_end(key)
        return ids

    def keep(self, key: Key, ids: Ids) -> Ids:
        """Remember the ids of a text, unless it is so long that many others would have to go; return them."""
        length = len(key[1])
        if length <= self._capacity // 8:
            self._ids[key] = ids
            self.characters += length
            while self.characters > self._capacity:
                (_, oldest), _ = self._ids.popitem(last=False)
                self.characters -= len(oldest)
        return ids
