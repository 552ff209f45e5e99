"""The application: routes, errors in one form, and the boundary around them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.responses import Response

from agentic_rl._version import __version__
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.serve import agent_routes, job_routes, openai_routes, status_routes
from agentic_rl.serve.access import Access
from agentic_rl.serve.agents.pool import AgentPool
from agentic_rl.serve.answers import Json, refusal
from agentic_rl.serve.boundary import Boundary, Limits
from agentic_rl.serve.jobs import Jobs
from agentic_rl.serve.metrics import Metrics
from agentic_rl.serve.upstreams import Upstream

_DESCRIPTION = "The instances of one configuration: models, agents and training jobs."
_SHOWN = 200


def application(
    *,
    upstreams: Mapping[str, Upstream],
    pools: Mapping[str, AgentPool],
    jobs: Jobs,
    metrics: Metrics,
    access: Access,
    limits: Limits | None = None,
) -> Boundary:
    """Make the application of one service."""
    app = new_app()
    app.state.upstreams = dict(upstreams)
    app.state.pools = dict(pools)
    app.state.jobs = jobs
    app.state.metrics = metrics
    return Boundary(app, access, metrics, limits or Limits())


def new_app() -> FastAPI:
    """Make the routes; `application` gives them what they work with."""
    app = FastAPI(
        title="agentic-rl",
        version=__version__,
        description=_DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        default_response_class=Json,
    )
    token = [Depends(HTTPBearer(auto_error=False, description="Asked for beyond loopback."))]
    app.include_router(status_routes.open_router)
    for module in (openai_routes, agent_routes, job_routes, status_routes):
        app.include_router(module.router, dependencies=token)
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _failure)
    return app


async def _api_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ApiError)  # noqa: S101 - registered for it
    return refusal(error)


async def _failure(request: Request, error: Exception) -> Response:
    """What a client is told of a mistake of ours; the error itself goes on into the log."""
    return refusal(ApiError(500, f"{type(error).__name__}; the service's log says more", code="internal"))


async def _invalid(request: Request, error: Exception) -> Response:
    """Say what is wrong with the first value that is; a quoted value may be anything, and is cut."""
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for it
    first: dict[str, Any] = dict(error.errors()[0])
    where = [str(part) for part in first["loc"][1:]]
    key = ".".join(where)[:_SHOWN] or str(first["loc"][0])
    more = len(error.errors()) - 1
    message = f"{key}: {first['msg']}" + (f" (and {more} more)" if more else "")
    return refusal(ApiError(422, message[: 2 * _SHOWN], param=key, code="invalid_value"))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for it
    message = str(error.detail)
    if error.status_code == 404:
        message = f"{request.url.path[:_SHOWN]} is not served; /docs lists what is"
    headers = dict(error.headers or {})
    route = getattr(request.scope.get("route"), "path", "")
    if error.status_code == 405 and (methods := request.app.openapi()["paths"].get(route)):
        headers["Allow"] = ", ".join(sorted(method.upper() for method in methods))  # of all routes of the path
    return refusal(ApiError(error.status_code, message, code="http"), headers)
