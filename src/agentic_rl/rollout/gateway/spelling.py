"""Tokens as clients want to see them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentic_rl.rollout.gateway.ask import Choice


class Spelling:
    """Spells the tokens of a tokenizer."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def tokens(self, choice: Choice) -> list[str]:
        """Return the text of each token that the policy wrote; a part of a character is U+FFFD."""
        decode = self._tokenizer.decode
        return [
            str(decode([token], skip_special_tokens=False, clean_up_tokenization_spaces=False))
            for token in choice.token_ids
        ]

    def detailed(self, choice: Choice) -> list[dict[str, Any]]:
        """Return text and log-probability of each token, in the form of chats.

        `top_logprobs` is empty: more was refused, since of tokens that were not sampled engines tell nothing.
        """
        return [
            {"token": token, "logprob": logprob, "bytes": list(token.encode("utf-8", "replace")), "top_logprobs": []}
            for token, logprob in zip(self.tokens(choice), choice.logprobs, strict=True)
        ]


def usage(choices: Sequence[Choice]) -> dict[str, int]:
    """Count tokens, in the form of completions and chats."""
    shown = len(choices[0].prompt_ids)
    written = sum(len(choice.token_ids) for choice in choices)
    return {"prompt_tokens": shown, "completion_tokens": written, "total_tokens": shown + written}
