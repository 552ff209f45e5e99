"""Brings up what the instances need: model servers, agents, and their places on a Ray cluster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agentic_rl.cluster.placement import Cluster, PlacementError
from agentic_rl.config.diagnostics import ConfigError, Report
from agentic_rl.serve.agents.executor import Executor, ThreadExecutor
from agentic_rl.serve.agents.ray_executor import AgentActor, RayExecutor
from agentic_rl.serve.engines import EngineActor, EngineError, EngineProcess
from agentic_rl.serve.findings import ENGINE_FAILED, NOT_PLACED, error
from agentic_rl.serve.settings import AgentInstance, Infer, Train

_LOGGER = logging.getLogger(__name__)
PLACE_SECONDS = 120.0
"""How long is waited for a place on a cluster."""
ENGINE_SECONDS = 1800.0
"""How long is waited for a model server: loading a large model takes long."""


@dataclass
class Executors:
    """All executors of a service. Made on the event loop that closes them."""

    log_dir: str
    place_seconds: float = PLACE_SECONDS
    engine_seconds: float = ENGINE_SECONDS
    cluster: Cluster | None = None
    _engines: list[EngineProcess] = field(default_factory=list)
    _actors: list[object] = field(default_factory=list)
    _agents: list[Executor] = field(default_factory=list)

    async def engine(self, infer: Infer) -> Infer:
        """Start the servers of an instance, where it has servers of its own; the instance with their addresses.

        Raises:
            ConfigError: they do not come up, or can't be placed.
        """
        if not infer.started_here:
            return infer
        numbers = range(infer.resources.executors)
        try:
            if infer.resources.amounts and infer.engine != "vllm_ray":
                urls = await asyncio.to_thread(self._placed_engines, infer)
                return replace(infer, servers=tuple(urls))
            # With vllm_ray the server asks the cluster itself, which it could not if the places were held for it.
            await asyncio.to_thread(self.hold, infer)
            engines = [EngineProcess(infer, number, self.log_dir) for number in numbers]
            self._engines += engines
            ready = asyncio.gather(*(one.ready() for one in engines))
            return replace(infer, servers=tuple(await asyncio.wait_for(ready, self.engine_seconds)))
        except asyncio.TimeoutError:
            message = f"{infer.name} does not answer after {self.engine_seconds:g} s"
            raise error(ENGINE_FAILED, infer.key, message, f"see engine-*.log in {self.log_dir}") from None
        except (EngineError, OSError) as problem:
            raise error(ENGINE_FAILED, infer.key, str(problem), f"see engine-*.log in {self.log_dir}") from None

    async def agents(self, instance: AgentInstance) -> Sequence[Executor]:
        """Start the executors of an agent instance.

        Raises:
            ConfigError: the agent can't be made, or they can't be placed.
        """
        if instance.resources.wants_ray:
            made: Sequence[Executor] = await asyncio.to_thread(self._placed_agents, instance)
        else:
            made = [await asyncio.to_thread(ThreadExecutor, instance)]
        self._agents += made
        return made

    def hold(self, instance: Train | Infer) -> None:
        """Wait until the cluster has free what an instance asks for; blocks.

        Raises:
            ConfigError: it has not.
        """
        if instance.resources.amounts:
            try:
                self._connected().hold(instance.resources, self.place_seconds)
            except PlacementError as problem:
                raise _unplaced(instance.key, problem) from None

    async def close(self) -> None:
        """End all of them."""
        await asyncio.gather(*(one.close() for one in self._agents), return_exceptions=True)
        await asyncio.gather(*(one.close() for one in self._engines), return_exceptions=True)
        if self.cluster is not None:
            await asyncio.to_thread(self._leave, self.cluster)

    def _leave(self, cluster: Cluster) -> None:
        cluster.stop(self._actors)
        cluster.close()

    def _placed_engines(self, infer: Infer) -> list[str]:
        given = [(infer, number, self.log_dir) for number in range(infer.resources.executors)]
        try:
            started = self._connected().start(EngineActor, given, infer.resources, self.engine_seconds)
        except PlacementError as problem:
            raise _unplaced(infer.key, problem) from None
        self._actors += [handle for handle, _ in started]
        return [url for _, url in started]

    def _placed_agents(self, instance: AgentInstance) -> Sequence[Executor]:
        cluster = self._connected(instance.key)
        given = [(instance, number) for number in range(instance.resources.executors)]
        try:
            started = cluster.start(AgentActor, given, instance.resources, self.place_seconds)
        except PlacementError as problem:
            raise _unplaced(instance.key, problem) from None
        if findings := started[0][1]:
            cluster.stop([handle for handle, _ in started])
            raise ConfigError(Report(list(findings)))
        return [RayExecutor(handle, cluster.ray) for handle, _ in started]

    def _connected(self, key: str = "") -> Cluster:
        if self.cluster is None:
            try:
                self.cluster = Cluster.connect()
            except PlacementError as problem:
                raise _unplaced(key, problem) from None
        return self.cluster


def _unplaced(key: str, problem: PlacementError) -> ConfigError:
    return error(NOT_PLACED, f"{key}.resource_info", str(problem), problem.hint)
