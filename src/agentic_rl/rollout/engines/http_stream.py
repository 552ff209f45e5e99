"""Answers of vLLM's /v1/completions that come token by token, as server-sent events."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentic_rl.rollout.engines.base import Completion, OnTokens, SamplingParams
from agentic_rl.rollout.engines.http_answers import problem_of
from agentic_rl.rollout.engines.http_faults import SHOWN, ServerFaultError


class AnswerStream:
    """Takes the bytes of an answer as they come, and tells of the tokens in them.

    What was told can't be taken back. So after a try that failed, the next one asks for the rest alone.

    Args:
        prompt: what was sent.
        sampling: what was asked for.
        on_tokens: told of each token once; what it raises comes out of `feed`.
    """

    def __init__(self, prompt: Sequence[int], sampling: SamplingParams, on_tokens: OnTokens) -> None:
        self.tokens: list[int] = []
        self.logprobs: list[float] = []
        self._prompt = prompt if isinstance(prompt, list) else list(prompt)
        self._asked = self._prompt
        self._sampling = sampling
        self._on_tokens = on_tokens
        self._bytes = b""
        self._fits = False
        self._reason: Any = None

    def rest(self) -> tuple[list[int], SamplingParams]:
        """Begin a try; return what to ask for: the prompt with all that has come, and the tokens that are left."""
        self._bytes, self._fits = b"", False
        come = len(self.tokens)
        if not come:
            return self._prompt, self._sampling
        self._asked = [*self._prompt, *self.tokens]
        left = self._sampling.max_tokens - come
        return self._asked, replace(self._sampling, max_tokens=left, seed=self._sampling.seed + come)

    @property
    def ended(self) -> bool:
        """Whether the last token has come, though perhaps not the end of the answer."""
        if self.tokens and self.tokens[-1] in self._sampling.stop_token_ids:
            self._reason = "stop"
        elif len(self.tokens) == self._sampling.max_tokens:
            self._reason = "length"
        return self._reason in ("stop", "length")

    def feed(self, data: bytes) -> None:
        """Take what came.

        Raises:
            ServerFaultError: it is not what a working server answers to this request.
        """
        *lines, self._bytes = (self._bytes + data).split(b"\n")
        for line in lines:
            field, _, value = line.partition(b":")
            if field == b"data" and value.strip() != b"[DONE]":
                self._take(value)

    def completion(self) -> Completion:
        """Return the whole answer, once the last bytes have come.

        Raises:
            ServerFaultError: it has no end, or is not what was asked for.
        """
        problem = problem_of(self.tokens, self.logprobs, self._reason, self._sampling)
        if problem:
            raise ServerFaultError(f"an answer that does not fit its request: {problem}")
        return Completion(self.tokens, self.logprobs, self._reason)

    def _take(self, value: bytes) -> None:
        try:
            choice = json.loads(value)["choices"][0]
            tokens, shown = choice["token_ids"] or [], choice.get("prompt_token_ids")
            logprobs = choice["logprobs"]["token_logprobs"] if tokens else []
            reason = choice["finish_reason"]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            quoted = value[:SHOWN].decode("utf-8", "replace")
            raise ServerFaultError(
                f"an event that can't be read ({type(error).__name__}: {error}): {quoted!r}"
            ) from None
        self._fits = self._fits or shown == self._asked
        if tokens and not self._fits:
            raise ServerFaultError("a stream that does not fit its request: it continues another prompt")
        if tokens:
            self._tell(tokens, logprobs)
        self._reason = reason or self._reason

    def _tell(self, tokens: list[int], logprobs: list[float]) -> None:
        problem = problem_of(tokens, logprobs, "stop", self._sampling)
        if problem or len(self.tokens) + len(tokens) > self._sampling.max_tokens:
            raise ServerFaultError(f"a stream that does not fit its request: {problem or 'too many tokens'}")
        self.tokens += tokens
        self.logprobs += logprobs
        self._on_tokens(tokens, logprobs)
