"""A request on its way through an engine."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agentic_rl.rollout.engines.base import Completion, OnTokens, PromptTooLongError, SamplingParams


class Row:
    """One request: its tokens so far, and where the engine stands with them."""

    __slots__ = (
        "cached",
        "future",
        "limit",
        "logprobs",
        "on_tokens",
        "prompt_length",
        "sampling",
        "session",
        "stop",
        "take",
        "tokens",
    )

    def __init__(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        session: str | None,
        limit: int,
        future: asyncio.Future[Completion],
        *,
        on_tokens: OnTokens | None = None,
    ) -> None:
        self.tokens = list(prompt)
        """The prompt, then what was sampled."""
        self.prompt_length = len(self.tokens)
        self.sampling = sampling
        self.session = session
        self.limit = limit
        """The row ends when it has that many tokens."""
        self.stop = frozenset(sampling.stop_token_ids)
        self.future = future
        self.on_tokens = on_tokens
        self.logprobs: list[float] = []
        self.cached = 0
        """The first so many tokens are in the KV cache."""
        self.take = 0
        """That many tokens are fed in the coming step."""

    @property
    def pending(self) -> int:
        """How many tokens the model has not read yet."""
        return len(self.tokens) - self.cached

    def append(self, token: int, logprob: float) -> bool:
        """Add a sampled token; true if it was the last one."""
        self.tokens.append(token)
        self.logprobs.append(logprob)
        if self.on_tokens is not None and not self._told(token, logprob):
            return True
        return token in self.stop or len(self.tokens) >= self.limit

    def _told(self, token: int, logprob: float) -> bool:
        """Tell of a token; false if the caller wants no more."""
        if self.on_tokens is None or self.future.done():
            return True
        try:
            self.on_tokens((token,), (logprob,))
        except Exception as error:
            self.future.set_exception(error)
            return False
        return True

    def finish(self) -> None:
        """Give the caller what was generated, unless it no longer waits."""
        if self.future.done():
            return
        tokens = self.tokens[self.prompt_length :]
        reason = "stop" if tokens[-1] in self.stop else "length"
        self.future.set_result(Completion(tokens, self.logprobs, reason))  # type: ignore[arg-type] # of the two above


def check_prompt(prompt: Sequence[int], vocab_size: int, max_model_len: int) -> None:
    """Refuse a prompt that the model can't read.

    Raises:
        PromptTooLongError: there is no room for one more token.
        ValueError: there is no token, or an id outside [0, vocab_size).
    """
    if not prompt:
        raise ValueError("the prompt is empty; an engine needs at least one token to continue")
    if len(prompt) >= max_model_len:
        raise PromptTooLongError(
            f"the prompt has {len(prompt)} tokens, but prompt and completion together may have {max_model_len} "
            "(max_model_len); shorten the prompt or raise the limit"
        )
    low, high = min(prompt), max(prompt)
    if low < 0 or high >= vocab_size:
        wrong = low if low < 0 else high
        raise ValueError(
            f"the prompt holds the token id {wrong}, but the model's ids are 0 to {vocab_size - 1}; "
            "use the tokenizer that belongs to the model"
        )


def check_sampling(sampling: SamplingParams) -> None:
    """Refuse sampling values out of range, each named with its rule."""
    rules = (
        ("max_tokens", sampling.max_tokens >= 1, "1 or more"),
        ("temperature", 0 <= sampling.temperature < float("inf"), "0 or more, and finite"),
        ("top_k", sampling.top_k >= -1, "-1 or 0 (off), or more"),
        ("top_p", 0 < sampling.top_p <= 1, "above 0 and at most 1"),
        ("min_p", 0 <= sampling.min_p <= 1, "from 0 to 1"),
    )
    for name, holds, rule in rules:
        if not holds:
            raise ValueError(f"{name} is {getattr(sampling, name)}, but it must be {rule}")
