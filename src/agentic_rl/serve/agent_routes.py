"""`/agent/invoke`: runs an agent, and tells what happens as server-sent events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.serve.agents.call import AgentCall
from agentic_rl.serve.agents.pool import AgentPool
from agentic_rl.serve.answers import EVENT_STREAM, errors, event
from agentic_rl.serve.connection import EventStream

_LOGGER = logging.getLogger(__name__)
router = APIRouter(prefix="/agent", tags=["agents"])
_QUIET_SECONDS = 15.0
"""After so long without an event a comment is sent, which keeps proxies from closing the connection."""
_COMMENT = b": still running\n\n"


class Invocation(BaseModel):
    """What an agent is asked."""

    model_config = ConfigDict(extra="forbid")

    agent_name: Annotated[StrictStr, Field(description="The name of an agent instance.")]
    problem: Annotated[
        StrictStr | Annotated[list[dict[str, Any]], Field(min_length=1)],
        Field(description="A question, or a conversation in OpenAI's form."),
    ]
    ground_truth: Annotated[Any, Field(description="What the agent's reward compares with.")] = None
    sample_id: StrictInt | StrictStr = 0
    iteration: StrictInt = 0
    extra_args: Annotated[
        dict[str, Any], Field(description="What a row of data has in `extra_info`; `seed` makes the run repeatable.")
    ] = Field(default_factory=dict)


@router.post(
    "/invoke",
    response_class=EventStream,
    responses={
        200: {
            "description": "The events `raw_response_event` and `run_item_stream_event` (`message_output_created`, "
            "`tool_called`, `tool_output`) in the shapes of the OpenAI Agents SDK; at the end `run_result`, or "
            "`error`.",
            "content": {EVENT_STREAM: {"schema": {"type": "string"}}},
        },
        **errors(400, 404, 408, 413, 422, 503),
    },
)
async def invoke(request: Request, invocation: Invocation) -> EventStream:
    """Run an agent once."""
    pools: dict[str, AgentPool] = request.app.state.pools
    pool = pools.get(invocation.agent_name)
    if pool is None:
        raise ApiError(
            404,
            f"there is no agent {invocation.agent_name[:100]!r}; known: {', '.join(pools) or 'none'}",
            param="agent_name",
            code="agent_not_found",
        )
    if pool.full:
        raise ApiError(429, f"{pool.instance.n_parallel_agents} runs of each executor go on; try again", code="busy")
    call = AgentCall(**invocation.model_dump(exclude={"agent_name"}))
    told = with_comments(pool.invoke(call), _QUIET_SECONDS)
    first = await anext(told)  # a run that can't begin is refused with a status of its own
    return EventStream(_stream(pool.instance.name, first, told))


async def _stream(name: str, first: bytes, told: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(told):
            yield first
            async for part in told:
                yield part
    except ApiError as error:
        yield event("error", error.body())
    except Exception as error:
        _LOGGER.exception("a run of %s failed", name)
        yield event("error", ApiError(500, f"{type(error).__name__}: {error}", code="agent_failed").body())


async def with_comments(events: AsyncGenerator[bytes, None], seconds: float) -> AsyncGenerator[bytes, None]:
    """Give the events, and a comment whenever there was none for some seconds."""
    following: asyncio.Task[bytes] | None = None
    try:
        while True:
            if following is None:
                following = asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait((following,), timeout=seconds)
            if not done:
                yield _COMMENT
                continue
            try:
                part = following.result()
            except StopAsyncIteration:
                return
            following = None
            yield part
    finally:
        if following is not None:
            following.cancel()
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await following
        await events.aclose()
