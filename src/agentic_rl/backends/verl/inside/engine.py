"""Our `Engine` over verl's inference servers: tokens in, tokens out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

from agentic_rl.rollout.engines.base import (
    Completion,
    EngineClosedError,
    OnTokens,
    PromptTooLongError,
    SamplingParams,
)


@dataclass
class Served:
    """What verl's servers did for one rollout (or, with a wrapper that takes whole batches, for all of a batch)."""

    oldest: int | None = None
    """Training step of the oldest weights that generated; None: nothing was generated."""
    newest: int | None = None
    seconds: float = 0.0
    """Time of all model calls."""

    def count(self, fields: dict[str, Any], seconds: float) -> None:
        """Take note of one answer; `fields` are verl's `extra_fields` of it."""
        self.seconds += seconds
        older, newer = fields.get("min_global_steps"), fields.get("max_global_steps")
        if older is not None:
            self.oldest = int(older) if self.oldest is None else min(self.oldest, int(older))
        if newer is not None:
            self.newest = int(newer) if self.newest is None else max(self.newest, int(newer))


SERVED: ContextVar[Served | None] = ContextVar("SERVED", default=None)
"""Of the rollout that is running: tasks and threads that it starts inherit it."""


class VerlEngine:
    """Generates with verl's `server_manager`.

    Requests carry no seed: vLLM samples a request with a seed of its own in a slow path, so a run on verl is not
    repeatable token by token.
    """

    def __init__(self, server_manager: Any, max_model_len: int) -> None:
        self.max_model_len = max_model_len
        self._server_manager = server_manager
        self._name = uuid4().hex  # sessions of other workers go to the same servers

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        """Continue `prompt`; the calls of one session go to one server, which has their prefix in its cache.

        verl hands answers over whole, so `on_tokens` is called once.

        Raises:
            PromptTooLongError: the prompt leaves no room in the model's context.
            EngineClosedError: verl gave the request up.
        """
        limit = min(sampling.max_tokens, self.max_model_len - len(prompt))
        if limit <= 0:
            raise PromptTooLongError(
                f"prompt has {len(prompt)} tokens, which leaves no room in max_model_len {self.max_model_len}"
            )
        begun = time.perf_counter()
        output = await self._server_manager.generate(
            request_id=uuid4().hex if session is None else f"{self._name}-{session}",
            prompt_ids=list(prompt),
            sampling_params=_native(sampling, limit),
        )
        served = SERVED.get()
        if served is not None:
            served.count(output.extra_fields, time.perf_counter() - begun)
        completion = _completion(output, sampling, limit)
        if on_tokens is not None:
            on_tokens(completion.tokens, completion.logprobs)
        return completion

    def release(self, session: str) -> None:
        """Nothing to do: the servers forget the oldest prefixes themselves."""

    def weights_changed(self) -> None:
        """Nothing to do: verl brings new weights to its servers."""

    async def close(self) -> None:
        """Nothing to do: the servers are verl's."""


def _native(sampling: SamplingParams, limit: int) -> dict[str, Any]:
    return {
        "max_tokens": limit,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "stop_token_ids": list(sampling.stop_token_ids),
        "logprobs": True,
    }


def _completion(output: Any, sampling: SamplingParams, limit: int) -> Completion:
    tokens, logprobs = list(output.token_ids), list(output.log_probs or ())
    if output.stop_reason == "aborted" or not tokens:
        raise EngineClosedError("verl gave the request up before it was answered")
    if len(logprobs) != len(tokens):
        raise EngineClosedError(f"verl answered with {len(tokens)} tokens and {len(logprobs)} log-probabilities")
    # verl says "completed" for both; the engine may also know ends of its own, which are no stop_token_ids.
    cut = len(tokens) >= limit and tokens[-1] not in sampling.stop_token_ids
    reason: Literal["stop", "length"] = "length" if cut else "stop"
    return Completion(tokens, logprobs, reason)
