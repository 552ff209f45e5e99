"""From a path to an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from types import ModuleType
from typing import Any, NamedTuple

from agentic_rl.rollout.gateway import chat, completions, responses
from agentic_rl.rollout.gateway.ask import MODEL, Ask, Policy
from agentic_rl.rollout.gateway.body import Body, read_json
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.rollout.gateway.listener import Answer, Call
from agentic_rl.rollout.gateway.spelling import Spelling
from agentic_rl.rollout.gateway.streaming import AnswerEvents, EventForm

_JSON, _EVENTS = "application/json", "text/event-stream"


class _Api(NamedTuple):
    read: Callable[[Body], Ask]
    answer: Callable[..., dict[str, Any]]
    stream: Callable[[Ask, str], EventForm]


def _api(module: ModuleType, stream: Callable[[Ask, str], EventForm]) -> _Api:
    return _Api(module.read, module.answer, stream)


_APIS = {
    "chat/completions": _api(chat, chat.Chunks),
    "completions": _api(completions, completions.Chunks),
    "responses": _api(responses, responses.stream),
}


async def answered(call: Call, what: str, policy: Policy, answer_id: str, spelling: Spelling) -> Answer:
    """Answer a call whose key has been checked.

    Args:
        call: the request.
        what: its path below `v1/`.
        policy: what answers.
        answer_id: of this answer alone.
        spelling: of the policy's tokens.

    Raises:
        Exception: see `api_error`.
    """
    if what == "models" or what.startswith("models/"):
        _require(call, "GET")
        return _json(_models(what))
    if what not in _APIS:
        raise ApiError(404, f"/v1/{what} is not served; there are models, {', '.join(_APIS)}", code="unknown_url")
    _require(call, "POST")
    api = _APIS[what]
    ask = api.read(read_json(await call.read()))
    if not ask.stream:
        return _json(api.answer(ask, await policy.answer(ask), answer_id, spelling))
    written = partial(api.answer, ask, answer_id=answer_id, spelling=spelling)
    events = AnswerEvents(api.stream(ask, answer_id), written, partial(policy.answer, ask))
    await events.begin()
    return Answer(200, _EVENTS, b"", events=events)


def refused(error: ApiError) -> Answer:
    """Return the answer that an error is."""
    return Answer(error.status, _JSON, json.dumps(error.body()).encode(), error.again)


def _json(body: dict[str, Any]) -> Answer:
    return Answer(200, _JSON, json.dumps(body).encode())


def _require(call: Call, method: str) -> None:
    if call.method != method:
        raise ApiError(405, f"{call.method} is not allowed here; use {method}", code="method_not_allowed")


def _models(what: str) -> dict[str, Any]:
    model = {"id": MODEL, "object": "model", "created": int(time.time()), "owned_by": "agentic_rl"}
    name = what.removeprefix("models").strip("/")
    return {**model, "id": name} if name else {"object": "list", "data": [model]}
