"""`/health`, `/metrics`, and the page that shows what the service can."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from agentic_rl._version import __version__
from agentic_rl.serve.answers import Json, errors
from agentic_rl.serve.metrics import CONTENT_TYPE
from agentic_rl.serve.page import page
from agentic_rl.serve.upstreams import Upstream

router = APIRouter(tags=["service"])
open_router = APIRouter(tags=["service"])
"""What needs no token."""


@open_router.get("/health")
async def health() -> Json:
    """Say that the service answers. Needs no token."""
    return Json({"status": "ok", "version": __version__})


@router.get("/status", responses=errors())
async def status(request: Request) -> Json:
    """Say which model servers answer, and what runs."""
    state = request.app.state
    upstreams: dict[str, Upstream] = state.upstreams
    wells = await asyncio.gather(*(one.well() for one in upstreams.values()))
    return Json(
        {
            "infer_instances": dict(zip(upstreams, wells, strict=True)),
            "agent_instances": {name: {"running": pool.running} for name, pool in state.pools.items()},
            "train_instances": [one.name for one in state.jobs.settings.trains],
        }
    )


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}, **errors()})
async def metrics(request: Request) -> Response:
    """Give what the service measures, for Prometheus."""
    return Response(request.app.state.metrics.text(), media_type=CONTENT_TYPE)


@open_router.get("/docs", include_in_schema=False)
async def docs(request: Request) -> HTMLResponse:
    """Show what the service can, on a page that loads nothing from elsewhere."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    return HTMLResponse(page(request.app.openapi()), headers={"Content-Security-Policy": policy})
