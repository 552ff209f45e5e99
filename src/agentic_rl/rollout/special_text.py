"""Text of special tokens in what people, tools and policies say, which must stay text.

A tool's result that spells `<|im_end|>` would end its own message, and could go on as another speaker. So a mark goes
into each such place before the template renders, and the rendered text is encoded in the pieces between the marks:
no piece has the whole token. The mark is one of the characters that Unicode reserves for use inside programs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MARK = "\ufdd0"
_UNKNOWN = "\ufffd"


class SpecialText:
    """The special tokens of a tokenizer."""

    def __init__(self, tokens: Iterable[str]) -> None:
        spelled = sorted({token for token in tokens if len(token) > 1})
        self._pattern = re.compile(_any_of(spelled) if spelled else "(?!)")

    @classmethod
    def of(cls, tokenizer: Any) -> SpecialText:
        """Take those that encoding text would find, other added tokens aside: models write these as plain words."""
        added = [str(token) for token in tokenizer.added_tokens_decoder.values() if token.special]
        return cls([*added, *tokenizer.all_special_tokens])

    def marked(self, value: Any) -> Any:
        """Return a message, or a part of one, with a mark inside each text of a special token."""
        if isinstance(value, str):
            clean = value.replace(MARK, _UNKNOWN) if MARK in value else value
            return self._pattern.sub(lambda match: match[0] + MARK, clean)
        if isinstance(value, Mapping):
            return {self.marked(key): self.marked(one) for key, one in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.marked(one) for one in value]
        return value


def _any_of(words: list[str]) -> str:
    """A pattern for the first character of each word that the rest of the word follows; words may overlap."""
    first: dict[str, list[str]] = {}
    for word in words:
        first.setdefault(word[0], []).append(word[1:])
    return "|".join(f"{re.escape(letter)}(?={_tails(rest)})" for letter, rest in first.items())


def _tails(words: list[str]) -> str:
    """A pattern for any of the words that tries each letter once, however many words share it."""
    if "" in words:
        return ""
    first: dict[str, list[str]] = {}
    for word in words:
        first.setdefault(word[0], []).append(word[1:])
    return "(?:" + "|".join(re.escape(letter) + _tails(rest) for letter, rest in first.items()) + ")"
