"""From a path to an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, NamedTuple

from agentic_rl.rollout.gateway import chat, completions, response_events, responses
from agentic_rl.rollout.gateway.ask import MODEL, Ask, Choice, Policy
from agentic_rl.rollout.gateway.body import Body, read_json
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.rollout.gateway.listener import Answer, Call
from agentic_rl.rollout.gateway.spelling import Spelling

_JSON, _EVENTS = "application/json", "text/event-stream"


class _Api(NamedTuple):
    read: Callable[[Body], Ask]
    answer: Callable[[Ask, list[Choice], str, Spelling], dict[str, Any]]
    pieces: Callable[[Ask, dict[str, Any]], Iterable[dict[str, Any]]]


def _api(module: ModuleType, pieces: Any) -> _Api:
    return _Api(module.read, module.answer, pieces)


_APIS = {
    "chat/completions": _api(chat, chat.chunks),
    "completions": _api(completions, completions.chunks),
    "responses": _api(responses, response_events.events),
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
    whole = api.answer(ask, await policy.answer(ask), answer_id, spelling)
    if not ask.stream:
        return _json(whole)
    return Answer(200, _EVENTS, b"".join(_events(api.pieces(ask, whole), named=what == "responses")))


def refused(error: ApiError) -> Answer:
    """Return the answer that an error is."""
    return Answer(error.status, _JSON, json.dumps(error.body()).encode(), error.again)


def _json(body: dict[str, Any]) -> Answer:
    return Answer(200, _JSON, json.dumps(body).encode())


def _events(pieces: Iterable[dict[str, Any]], *, named: bool) -> Iterable[bytes]:
    for piece in pieces:
        name = f"event: {piece['type']}\n" if named else ""
        yield f"{name}data: {json.dumps(piece)}\n\n".encode()
    if not named:
        yield b"data: [DONE]\n\n"


def _require(call: Call, method: str) -> None:
    if call.method != method:
        raise ApiError(405, f"{call.method} is not allowed here; use {method}", code="method_not_allowed")


def _models(what: str) -> dict[str, Any]:
    model = {"id": MODEL, "object": "model", "created": int(time.time()), "owned_by": "agentic_rl"}
    name = what.removeprefix("models").strip("/")
    return {**model, "id": name} if name else {"object": "list", "data": [model]}
