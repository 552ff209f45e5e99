"""What was encoded lately: the same prompts and tool results come again and again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

Ids = tuple[int, ...]
Key = tuple[object, str]


class TextCache:
    """The token ids of texts, those used last, up to a number of characters in all."""

    def __init__(self, characters: int = 1 << 21) -> None:
        self._capacity = characters
        self._size = 0
        self._ids: OrderedDict[Key, Ids] = OrderedDict()

    def __len__(self) -> int:
        return len(self._ids)

    def get(self, kind: object, text: str, encode: Callable[[], Ids]) -> Ids:
        """Return the ids of a text, which `encode` gives where they are not known."""
        key = (kind, text)
        ids = self._ids.get(key)
        if ids is not None:
            self._ids.move_to_end(key)
            return ids
        ids = encode()
        if len(text) <= self._capacity // 8:
            self._ids[key] = ids
            self._size += len(text)
            while self._size > self._capacity:
                (_, oldest), _ = self._ids.popitem(last=False)
                self._size -= len(oldest)
        return ids
