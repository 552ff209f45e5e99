"""A byte-level tokenizer that knows the words of the project.

A word, a number of at most two digits, or a fixed string of the chat format is one token if the vocabulary has it;
everything else falls back to bytes, so any text survives the round trip. Short numbers matter: a small model learns to
copy a number of one token in minutes, and digit by digit not at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import resources
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
CALL_BEGIN = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "'
CALL_END = '"}}\n</tool_call>'
TOOLS = "# Tools\ncalculator(expression)"
FIXED = (CALL_BEGIN, CALL_END, TOOLS, "\\boxed{", "system\n", "user\n", "assistant\n", "tool\n")
NUMBERS = [*map(str, range(10)), *(f"{number:02}" for number in range(100))]
# A word keeps the space before it, and the one after it where a number follows: a number is always the same token.
WORD = r" ?\p{L}+(?: (?=\p{N}))?"
PATTERN = "|".join([*map(re.escape, FIXED), r"\p{N}{1,2}", WORD, r" ?[^\s\p{L}\p{N}]+", r"\s"])


def build_tokenizer(texts: Iterable[str]) -> PreTrainedTokenizerFast:
    """A tokenizer whose vocabulary is the bytes, the numbers below 100 and every piece of `texts`."""
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_tokenizer(texts), pad_token=PAD, eos_token=END, clean_up_tokenization_spaces=False
    )
    tokenizer.chat_template = resources.files(__package__).joinpath("chat_template.jinja").read_text("utf-8")
    return tokenizer


def _tokenizer(texts: Iterable[str]) -> Tokenizer:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    split = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    pieces = {piece for text in [*NUMBERS, *FIXED, *texts] for piece, _ in split.pre_tokenize_str(text)}
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: number for number, piece in enumerate([*alphabet, *sorted(pieces - set(alphabet))])}
    # With ignore_merges a whole piece of the vocabulary is one token; there are no merges, so the rest is bytes.
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in (PAD, START, END)])
    return tokenizer
