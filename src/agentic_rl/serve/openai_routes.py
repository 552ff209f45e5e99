"""`/v1`: the inference instances behind OpenAI's API."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from agentic_rl.rollout.gateway.faults import ApiError, InvalidError
from agentic_rl.serve.answers import Json, errors
from agentic_rl.serve.relay import Relay
from agentic_rl.serve.upstreams import Upstream

router = APIRouter(prefix="/v1", tags=["models"])
_PASSED_ON = ("x-request-id",)


def _body(example: dict[str, Any], **properties: Any) -> dict[str, Any]:
    shared = {
        "model": {
            "type": ["string", "null"],
            "description": "An inference instance; left out: the only one.",
        },
        "stream": {"type": ["boolean", "null"], "default": False},
        **properties,
    }
    schema = {"type": "object", "properties": shared, "example": example}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The model server's answer; with `stream`, server-sent events.",
        "content": {"application/json": {}, "text/event-stream": {}},
    },
    "default": {"description": "The model server's own answer."},
}
_MESSAGES = {"description": "The conversation."}
_CHAT = {"model": "NAME", "messages": [{"role": "user", "content": "Hello"}]}


@router.post(
    "/chat/completions",
    responses={**_STREAM, **errors(400, 404, 408, 413, 502, 504)},
    openapi_extra=_body(_CHAT, messages=_MESSAGES),
)
async def chat_completions(request: Request) -> Response:
    """Let an inference instance answer a conversation. The body goes to its server as it is, but for the model."""
    return await _relayed(request, "/v1/chat/completions")


@router.post(
    "/completions",
    responses={**_STREAM, **errors(400, 404, 408, 413, 502, 504)},
    openapi_extra=_body({"model": "NAME", "prompt": "Once"}, prompt={"description": "Text, or ids of tokens."}),
)
async def completions(request: Request) -> Response:
    """Let an inference instance continue a text. The body goes to its server as it is, but for the model."""
    return await _relayed(request, "/v1/completions")


@router.get("/models", responses=errors())
async def models(request: Request) -> Json:
    """List the inference instances."""
    upstreams: dict[str, Upstream] = request.app.state.upstreams
    listed = [
        {"id": name, "object": "model", "created": 0, "owned_by": "agentic-rl", "root": one.infer.model}
        for name, one in upstreams.items()
    ]
    return Json({"object": "list", "data": listed})


async def _relayed(request: Request, path: str) -> Response:
    content = await request.body()
    body = read_object(content)
    upstream = chosen(request.app.state.upstreams, body.get("model"))
    if not isinstance(body.get("stream"), bool | None):
        raise InvalidError("stream has to be true or false", param="stream")
    if body.get("model") != upstream.infer.model:
        content = json.dumps({**body, "model": upstream.infer.model}).encode()
    headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
    return Relay(upstream, path, content, headers)


def read_object(content: bytes) -> dict[str, Any]:
    """Read a body that has to be an object.

    Raises:
        InvalidError: it is something else.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InvalidError(f"the body is no JSON: {error}", code="invalid_body") from None
    if not isinstance(body, dict):
        raise InvalidError(f"the body is a {type(body).__name__}; it must be an object", code="invalid_body")
    return body


def chosen(upstreams: dict[str, Upstream], name: object) -> Upstream:
    """The inference instance that a request names; without a name, the only one.

    Raises:
        ApiError: there is none of the name.
    """
    known = ", ".join(upstreams) or "none"
    if name is None and len(upstreams) == 1:
        return next(iter(upstreams.values()))
    if name is None and upstreams:
        raise InvalidError(f"model is missing; name one of: {known}", param="model")
    if not isinstance(name, str) or name not in upstreams:
        raise ApiError(404, f"there is no model {_shown(name)}; known: {known}", param="model", code="model_not_found")
    return upstreams[name]


def _shown(name: object) -> str:
    text = repr(name)
    return text if len(text) <= 100 else f"{text[:100]}..."
