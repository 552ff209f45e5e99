"""How much of a text that is still being written is settled, where certain words in it would change its meaning."""

from __future__ import annotations

from collections.abc import Sequence


def settled_length(text: str, words: Sequence[str]) -> int:
    """Return the length of the text before the first of the words, or before an end that may become one of them."""
    length = len(text)
    for word in words:
        place = text.find(word, 0, length + len(word) - 1)
        length = min(length, place if place >= 0 else len(text) - _begun(text, word))
    return length


def _begun(text: str, word: str) -> int:
    """How many of the last characters of a text are the first ones of a word."""
    most = min(len(word) - 1, len(text))
    return next((length for length in range(most, 0, -1) if text.endswith(word[:length])), 0)
