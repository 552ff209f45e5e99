"""Runs an agent on many tasks at once; whatever goes wrong in a rollout is recorded, and the others go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from itertools import count

from agentic_rl.agents.agent import Agent
from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.agents.wrapper import BaseEngineWrapper
from agentic_rl.rollout.agent_runner import AgentRunner
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.engines.base import Engine
from agentic_rl.rollout.gateway import Gateway
from agentic_rl.rollout.grouping import Grouping
from agentic_rl.rollout.limits import Limits, Truncation
from agentic_rl.rollout.recorder import Recorder
from agentic_rl.rollout.retries import Retries
from agentic_rl.rollout.segments import Conversation
from agentic_rl.rollout.wrapper_runner import WrapperRunner

Runnable = Agent | type[BaseEngineWrapper]
"""What a driver runs: an agent, or the class of a user's wrapper, which makes its trajectories itself."""


class Driver:
    """Holds `n_parallel_agents` rollouts in flight on one engine.

    The settings have the names of the configuration; `Limits` says what each means. `tool_timeout` is that of tools
    that say nothing themselves (None: `turn_timeout`), `retries` says which failed rollouts begin anew, `conversation`
    is what records the conversations of agents.
    """

    def __init__(
        self,
        engine: Engine,
        chat_format: ChatFormat,
        *,
        max_prompt_length: int,
        max_response_length: int,
        max_tokens: int,
        max_steps: int,
        temperature: float = 1.0,
        top_k: int = -1,
        top_p: float = 1.0,
        min_p: float = 0.0,
        n_parallel_agents: int = 1024,
        agent_name: str = "agent",
        turn_timeout: float = 600.0,
        trajectory_timeout: float = 7200.0,
        truncation: Truncation = "error",
        tool_timeout: float | None = None,
        retries: Retries | None = None,
        conversation: type[Conversation] = Conversation,
    ) -> None:
        self.engine = engine
        self.chat_format = chat_format
        self.n_parallel_agents = n_parallel_agents
        self.limits = Limits(
            max_prompt_length=max_prompt_length,
            max_response_length=max_response_length,
            max_tokens=max_tokens,
            max_steps=max_steps,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            turn_timeout=turn_timeout,
            trajectory_timeout=trajectory_timeout,
            truncation=truncation,
        )
        self._tool_timeout = turn_timeout if tool_timeout is None else tool_timeout
        self._retries = retries or Retries()
        self._agent_name = agent_name
        self._conversation = conversation
        self._sessions = count()
        self._wrappers: dict[type[BaseEngineWrapper], WrapperRunner] = {}
        self._gateway = Gateway(chat_format)

    async def run(self, agent: Runnable, tasks: Sequence[Task]) -> list[Trajectory]:
        """Run every task; return the trajectories in the order of the tasks.

        A rollout that fails or is late is a trajectory with `error` and what was recorded until then.

        Raises:
            AgentFileError: `agent` is the class of a wrapper that can't be started.
        """
        if isinstance(agent, type):
            return await self._wrapper_runner(agent).run(tasks)
        async with aclosing(self._results(agent, tasks)) as finished:
            results = {place: trajectory async for place, trajectory in finished}
        return [results[place] for place in range(len(tasks))]

    async def stream(self, agent: Runnable, tasks: Sequence[Task]) -> AsyncGenerator[list[Trajectory], None]:
        """Run every task; give the trajectories of a prompt (of equal `idx`, in the order of the tasks) once all ended.

        While groups are not taken, rollouts go on only until `n_parallel_agents` finished ones wait. Closing the
        generator (`contextlib.aclosing`) cancels what still runs. The groups of a wrapper come when all have ended.

        Raises:
            AgentFileError: `agent` is the class of a wrapper that can't be started.
        """
        grouping = Grouping(tasks)
        if isinstance(agent, type):
            for place, trajectory in enumerate(await self._wrapper_runner(agent).run(tasks)):
                if group := grouping.add(place, trajectory):
                    yield group
            return
        async with aclosing(self._results(agent, tasks)) as finished:
            async for place, trajectory in finished:
                if group := grouping.add(place, trajectory):
                    yield group

    async def close(self) -> None:
        """Stop the gateway, if an agent asked for it. The engine is its owner's to close."""
        await self._gateway.close()

    def _results(self, agent: Agent, tasks: Sequence[Task]) -> AsyncGenerator[tuple[int, Trajectory], None]:
        runner = AgentRunner(
            agent,
            self._new_recorder,
            n_parallel_agents=self.n_parallel_agents,
            trajectory_timeout=self.limits.trajectory_timeout,
            tool_timeout=self._tool_timeout,
            turn_timeout=self.limits.turn_timeout,
            retries=self._retries,
        )
        return runner.results(tasks)

    def _new_recorder(self, task: Task) -> Recorder:
        session = f"{next(self._sessions)}-{task.idx}-{task.sample}"
        door = partial(self._gateway.open, loop=asyncio.get_running_loop())
        return Recorder(
            self.engine,
            self.chat_format,
            self.limits,
            task,
            session,
            open_door=door,
            conversation=self._conversation,
        )

    def _wrapper_runner(self, wrapper: type[BaseEngineWrapper]) -> WrapperRunner:
        if wrapper not in self._wrappers:
            self._wrappers[wrapper] = WrapperRunner(
                wrapper,
                self.engine,
                self.chat_format,
                self.limits,
                agent_name=self._agent_name,
                n_parallel_agents=self.n_parallel_agents,
                gateway=self._gateway,
            )
        return self._wrappers[wrapper]
