"""The executors of an agent instance, and who of them runs what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from agentic_rl.serve.agents.call import AgentCall
from agentic_rl.serve.agents.executor import Executor
from agentic_rl.serve.metrics import Metrics
from agentic_rl.serve.settings import AgentInstance


class AgentPool:
    """Gives each run to the executor with the least to do.

    Args:
        instance: whose executors they are.
        executors: at least one.
        metrics: of the service.
    """

    def __init__(self, instance: AgentInstance, executors: Sequence[Executor], metrics: Metrics) -> None:
        self.instance = instance
        self._executors = list(executors)
        self._running = [0] * len(executors)
        self._metrics = metrics

    @property
    def running(self) -> int:
        """How many runs go on."""
        return sum(self._running)

    @property
    def full(self) -> bool:
        """Whether no further run may begin now: `n_parallel_agents` run on every executor."""
        return min(self._running) >= self.instance.n_parallel_agents

    async def invoke(self, call: AgentCall) -> AsyncGenerator[bytes, None]:
        """Give the events of a run; see `Executor.invoke`."""
        place = self._running.index(min(self._running))
        self._running[place] += 1
        in_flight = self._metrics.rollouts_in_flight.labels(self.instance.name)
        in_flight.inc()
        outcome = "broken_off"
        try:
            async with aclosing(self._executors[place].invoke(call)) as events:
                async for event in events:
                    yield event
            outcome = "ended"
        finally:
            self._running[place] -= 1
            in_flight.dec()
            self._metrics.rollouts.labels(self.instance.name, outcome).inc()

    async def close(self) -> None:
        """End what runs, and free what is held."""
        await asyncio.gather(*(one.close() for one in self._executors))
