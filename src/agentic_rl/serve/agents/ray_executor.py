"""Executors of an agent instance on a Ray cluster."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from agentic_rl.config.diagnostics import ConfigError, Finding
from agentic_rl.rollout.gateway.faults import ApiError
from agentic_rl.serve.agents.call import AgentCall
from agentic_rl.serve.agents.executor import ThreadExecutor
from agentic_rl.serve.settings import AgentInstance

Refused = tuple[int, str, str | None, str | None]
"""The arguments of an ApiError, which itself can't be sent."""


class AgentActor:
    """The class of the actors: an executor in a process of its own, perhaps on another machine."""

    def __init__(self, instance: AgentInstance, number: int) -> None:
        self._findings: list[Finding] = []
        self._executor: ThreadExecutor | None = None
        try:
            self._executor = ThreadExecutor(instance, number)
        except ConfigError as error:
            self._findings = list(error.report)

    async def ready(self) -> list[Finding]:
        """What keeps the agent from being used."""
        return self._findings

    async def invoke(self, call: AgentCall) -> AsyncGenerator[bytes | Refused, None]:
        """Give the events of a run; a run that is refused gives the arguments of the ApiError."""
        assert self._executor is not None  # noqa: S101 - nobody uses an actor that is not ready
        try:
            async with aclosing(self._executor.invoke(call)) as events:
                async for event in events:
                    yield event
        except ApiError as error:
            yield error.status, error.message, error.param, error.code

    async def running(self) -> int:
        """How many runs go on."""
        return self._executor.running() if self._executor is not None else 0

    async def close(self) -> None:
        """End what runs."""
        if self._executor is not None:
            await self._executor.close()


class RayExecutor:
    """An actor, seen from the service.

    Args:
        handle: of an `AgentActor`.
        ray: the module.
    """

    def __init__(self, handle: Any, ray: Any) -> None:
        self._handle = handle
        self._ray = ray

    async def invoke(self, call: AgentCall) -> AsyncGenerator[bytes, None]:
        """Give the events of a run; see `Executor.invoke`."""
        stream = self._handle.invoke.options(num_returns="streaming").remote(call)
        ended = False
        try:
            async for reference in stream:
                given = await reference
                if not isinstance(given, bytes):
                    status, message, param, code = given
                    raise ApiError(status, message, param=param, code=code)
                yield given
            ended = True
        finally:
            if not ended:
                self._ray.cancel(stream)

    async def running(self) -> int:
        """How many runs go on."""
        return int(await self._handle.running.remote())

    async def close(self) -> None:
        """End the actor, once what it holds is freed."""
        with contextlib.suppress(self._ray.exceptions.RayError):  # it may be gone
            await self._handle.close.remote()
        self._ray.kill(self._handle)
