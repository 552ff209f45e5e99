"""From tokens to text, exactly as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

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


def _definer(tokenizer: Any, name: str) -> str:
    """The module of the class that defines a method."""
    return next((kind.__module__ for kind in type(tokenizer).__mro__ if name in vars(kind)), "")
