"""Answers of the service: JSON that any text can go into, and errors in OpenAI's form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from fastapi.responses import JSONResponse

from agentic_rl.rollout.gateway.faults import ApiError

EVENT_STREAM = "text/event-stream"


class Json(JSONResponse):
    """JSON in ASCII: half of a surrogate pair, as requests may hold, has no bytes in UTF-8."""

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return json.dumps(content, separators=(",", ":")).encode()


_TEXT_OR_NOT = {"anyOf": [{"type": "string"}, {"type": "null"}]}
_ERROR = {
    "type": "object",
    "required": ["message", "type"],
    "properties": {
        "message": {"type": "string"},
        "type": {"type": "string"},
        "param": _TEXT_OR_NOT,
        "code": _TEXT_OR_NOT,
    },
}
_SCHEMA = {"type": "object", "required": ["error"], "properties": {"error": _ERROR}}
"""An error in OpenAI's form, whatever else a route answers with."""


def refusal(error: ApiError, headers: Mapping[str, str] | None = None) -> Json:
    """The answer that an error is."""
    more = dict(headers or {})
    if error.status == 401:
        more["WWW-Authenticate"] = "Bearer"
    if error.status in (429, 503):
        more["Retry-After"] = "1"
    return Json(error.body(), status_code=error.status, headers=more)


def event(name: str, data: Mapping[str, Any]) -> bytes:
    """One server-sent event."""
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How a route documents the errors that it answers with; those that every route may give are added."""
    content = {"application/json": {"schema": _SCHEMA}}
    return {status: {"description": _MEANINGS[status], "content": content} for status in (*statuses, *_OF_EVERY)}


_MEANINGS = {
    400: "The body can't be read, or a model server refuses it.",
    401: "The token is missing or wrong.",
    403: "The request comes from a web page, or under a foreign name.",
    404: "There is nothing of this name.",
    408: "The body did not come in time.",
    409: "It does not fit what goes on.",
    413: "The body is too large.",
    422: "A value of the request is wrong.",
    429: "Too many requests at once.",
    502: "The model server failed.",
    503: "Not now: the model server is not up, or the service is about to stop.",
    504: "The model server took too long.",
}
_OF_EVERY = (401, 403, 429)
