"""Bodies of vLLM's /v1/completions and what comes back, as token ids."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.rollout.engines.base import Completion, SamplingParams
from agentic_rl.rollout.engines.http_faults import SHOWN, ServerFaultError

_ENOUGH = 1 << 20
_BYTES_OF_A_TOKEN = 1024
"""Far more than a server writes for one: its id, text, log-probability and offset."""
_ROUNDING = 1e-3
"""How far above 0 a log-probability may lie."""


def write_body(model: str, prompt: Sequence[int], sampling: SamplingParams, **more: Any) -> bytes:
    """Return the body of a request. All that a server's own defaults could change is said."""
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "repetition_penalty": 1.0,  # a model's generation_config.json may hold another
        "stop_token_ids": sampling.stop_token_ids,
        "seed": sampling.seed,
        "logprobs": 0,
        "return_token_ids": True,
        **more,
        "prompt": prompt if isinstance(prompt, list) else list(prompt),
    }
    return json.dumps(body, separators=(",", ":")).encode()


def most_bytes(prompt: Sequence[int], sampling: SamplingParams) -> int:
    """Return how many bytes an answer may have before it is cut off as senseless."""
    return _ENOUGH + _BYTES_OF_A_TOKEN * (len(prompt) + sampling.max_tokens)


def read_answer(payload: bytes, prompt: Sequence[int], sampling: SamplingParams) -> Completion:
    """Read an answer, and compare it with what was asked.

    Raises:
        ServerFaultError: it is not what a working server answers to this request.
    """
    try:
        choice = json.loads(payload)["choices"][0]
        tokens, logprobs = choice["token_ids"], choice["logprobs"]["token_logprobs"]
        reason, shown = choice["finish_reason"], choice["prompt_token_ids"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        quoted = payload[:SHOWN].decode("utf-8", "replace")
        raise ServerFaultError(f"an answer that can't be read ({type(error).__name__}: {error}): {quoted!r}") from None
    problem = problem_of(tokens, logprobs, reason, sampling)
    if not problem and shown != (prompt if isinstance(prompt, list) else list(prompt)):
        problem = "it continues another prompt than the one that was sent"
    if problem:
        raise ServerFaultError(f"an answer that does not fit its request: {problem}")
    return Completion(tokens, logprobs, reason)


def problem_of(tokens: Any, logprobs: Any, reason: Any, sampling: SamplingParams) -> str:
    """Say what is wrong with the parts of an answer; empty: nothing."""
    if reason not in ("stop", "length"):
        return f"finish_reason is {reason!r}"
    try:
        if not (isinstance(tokens, list) and isinstance(logprobs, list)):
            raise TypeError("not lists")
        low = min(array("q", tokens), default=0)
        sure, total = max(array("d", logprobs), default=0.0), math.fsum(logprobs)
    except (TypeError, ValueError, OverflowError) as error:
        return f"tokens or log-probabilities are no lists of numbers ({error})"
    if not 1 <= len(tokens) <= sampling.max_tokens or low < 0:
        return f"{len(tokens)} tokens where 1 to {sampling.max_tokens} were asked for, the lowest {low}"
    if len(logprobs) != len(tokens):
        return f"{len(tokens)} tokens, but {len(logprobs)} log-probabilities"
    if not math.isfinite(total) or sure > _ROUNDING:
        return "a log-probability is above 0 or not finite"
    return ""


def lacks_token_ids(answer: Any) -> bool:
    """Whether a completion that is well otherwise has no token ids: the server does not know `return_token_ids`."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    return isinstance(first, Mapping) and "text" in first and not first.get("token_ids")
