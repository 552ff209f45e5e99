"""From tokens to text, exactly as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

_PART = "\ufffd"
"""What stands for a part of a character."""
Decode = Callable[[Sequence[int]], str]
_GENERIC = frozenset({"transformers.tokenization_utils_tokenizers", "transformers.tokenization_utils_fast"})
"""The modules whose `_decode` does no more than the tokenizer behind it, once nothing is to be cleaned up."""


def decoder_of(tokenizer: Any) -> Decode:
    """Return what gives the text of tokens, special ones included.

    The way through transformers costs more than twice of what is behind it, and a rollout takes it in every turn. So it
    is left out where no class of the tokenizer's own adds anything.
    """
    if _definer(tokenizer, "_decode") in _GENERIC and _definer(tokenizer, "decode").startswith("transformers.tokeniz"):
        behind: Decode = partial(tokenizer.backend_tokenizer.decode, skip_special_tokens=False)
        return behind
    return lambda tokens: str(tokenizer.decode(tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False))


class TextStream:
    """The text of tokens that come one after the other, as far as it is whole characters.

    It is the beginning of what decoding all of them at once gives, in a time that does not grow with what came before.
    """

    def __init__(self, decode: Decode) -> None:
        self.text = ""
        self._decode = decode
        self._tokens: list[int] = []
        """Those of the last step, whose text some tokenizers need to decode the next ones, and those of this one."""
        self._known = 0

    def add(self, tokens: Sequence[int]) -> None:
        """Take further tokens."""
        self._tokens += tokens
        before, now = self._decode(self._tokens[: self._known]), self._decode(self._tokens)
        if len(now) <= len(before) or now.endswith(_PART):
            return
        self.text += now[len(before) :]
        self._tokens = self._tokens[self._known :]
        self._known = len(self._tokens)


def _definer(tokenizer: Any, name: str) -> str:
    """The module of the class that defines a method."""
    return next((kind.__module__ for kind in type(tokenizer).__mro__ if name in vars(kind)), "")
