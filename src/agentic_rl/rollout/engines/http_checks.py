"""Whether a server can do what rollouts need: asked before its first request, and again whenever it was down."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.http_answers import lacks_token_ids, read_answer, write_body
from agentic_rl.rollout.engines.http_faults import ServerFaultError, ServerUnsuitableError
from agentic_rl.rollout.engines.http_servers import Server

CHECK_SECONDS = 10.0
"""How long a server may take to say that it is well."""
_LIMIT = 1 << 20
_PROBE = SamplingParams(max_tokens=4, top_k=1)


@dataclass(frozen=True)
class Abilities:
    """What a server serves, and how."""

    model: str
    max_model_len: int
    processed_logprobs: bool


async def check(server: Server, model: str | None, seconds: float) -> Abilities:
    """Ask a server for its models and for a few tokens.

    Args:
        server: which one.
        model: the name under which it serves the model; None: the only one that it has.
        seconds: how long it may take for the tokens.

    Raises:
        ServerUnsuitableError: it works, but can't be used; the message says what would help.
        ServerFaultError: it does not work now.
        ServerRefusedError: it wants another key.
    """
    url, wire = server.url, server.wire
    name, longest = _chosen(url, _read(url, await wire.get("/v1/models", limit=_LIMIT, seconds=CHECK_SECONDS)), model)
    body = write_body(name, [0], _PROBE)
    payload = await wire.post("/v1/completions", body, limit=_LIMIT, seconds=seconds)
    if lacks_token_ids(_read(url, payload)):
        raise ServerUnsuitableError(
            f"{url} answers without token ids, so what the policy sampled would have to be tokenized again; serve the "
            "model with vLLM 0.10.2 or newer, which knows return_token_ids"
        )
    try:
        logprobs = read_answer(payload, [0], _PROBE).logprobs
    except ServerFaultError as fault:
        raise ServerFaultError(f"{url}: {fault}") from None
    # Sampled with top_k 1, each token is certain: only a server that looks at the logits before that says otherwise.
    return Abilities(name, longest, processed_logprobs=not any(logprobs))


def _read(url: str, payload: bytes) -> Any:
    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise ServerFaultError(f"{url} answers a check with something that is not JSON") from None


def _chosen(url: str, answer: Any, model: str | None) -> tuple[str, int]:
    try:
        served = {str(one["id"]): one.get("max_model_len") for one in answer["data"]}
    except (TypeError, LookupError, AttributeError):
        raise ServerFaultError(f"{url}/v1/models does not list models: {str(answer)[:200]}") from None
    if model is None and len(served) == 1:
        (model,) = served
    if model is None or model not in served:
        raise ServerUnsuitableError(
            f"{url} serves {', '.join(served) or 'no model'}, not {model}; name one of those as model"
            if model is not None
            else f"{url} serves {', '.join(served) or 'no model'}; name one as model"
        )
    longest = served[model]
    if not isinstance(longest, int) or longest < 2:
        raise ServerUnsuitableError(f"{url} does not say its max_model_len; serve the model with vLLM 0.10.2 or newer")
    return model, longest
