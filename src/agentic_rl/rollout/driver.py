"""Runs an agent on many tasks at once; whatever goes wrong in a rollout is recorded, and the others go on."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import Sequence
from itertools import count
from typing import Any

from agentic_rl.agents.agent import Agent
from agentic_rl.agents.calls import DEFAULT_TIMEOUT
from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import BudgetExhaustedError
from agentic_rl.agents.file_loader import user_file
from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.agents.wrapper import BaseEngineWrapper
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.crew import Crew
from agentic_rl.rollout.engines.base import Engine
from agentic_rl.rollout.limits import Limits, Truncation
from agentic_rl.rollout.recorder import Recorder
from agentic_rl.rollout.wrapper_runner import WrapperRunner

Runnable = Agent | type[BaseEngineWrapper]
"""What a driver runs: an agent, or the class of a user's wrapper, which makes its trajectories itself."""


class Driver:
    """Holds `n_parallel_agents` rollouts in flight on one engine.

    The settings have the names of the configuration; `Limits` says what each means.
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
        self._agent_name = agent_name
        self._sessions = count()
        self._wrappers: dict[type[BaseEngineWrapper], WrapperRunner] = {}

    async def run(self, agent: Runnable, tasks: Sequence[Task]) -> list[Trajectory]:
        """Run every task; return the trajectories in the order of the tasks.

        A rollout that fails or is late is a trajectory with `error` and what was recorded until then.

        Raises:
            AgentFileError: `agent` is the class of a wrapper that can't be started.
        """
        if isinstance(agent, type):
            return await self._wrapper_runner(agent).run(tasks)
        crew = Crew(self.n_parallel_agents)
        token = DEFAULT_TIMEOUT.set(self.limits.turn_timeout)  # the crew's tasks inherit it
        try:
            return await crew.work_through(tasks, lambda task: self._rollout(agent, task, crew))
        finally:
            DEFAULT_TIMEOUT.reset(token)

    def _wrapper_runner(self, wrapper: type[BaseEngineWrapper]) -> WrapperRunner:
        if wrapper not in self._wrappers:
            self._wrappers[wrapper] = WrapperRunner(
                wrapper,
                self.engine,
                self.chat_format,
                self.limits,
                agent_name=self._agent_name,
                n_parallel_agents=self.n_parallel_agents,
            )
        return self._wrappers[wrapper]

    async def _rollout(self, agent: Agent, task: Task, crew: Crew) -> Trajectory:
        session = f"{next(self._sessions)}-{task.idx}-{task.sample}"
        recorder = Recorder(self.engine, self.chat_format, self.limits, task, session)
        try:
            with Deadline(self.limits.trajectory_timeout, "the rollout"):
                reward = await _rewarded(agent, task, recorder)
        except asyncio.CancelledError as error:
            if crew.stopping:
                raise
            return recorder.failed(error, user_file(type(agent)))
        except (Exception, SystemExit) as error:
            return recorder.failed(error, user_file(type(agent)))
        finally:
            recorder.end()
        return recorder.trajectory(reward)


async def _rewarded(agent: Agent, task: Task, recorder: Recorder) -> float:
    try:
        reward: Any = agent.run(task, recorder)
        if inspect.isawaitable(reward):  # a run that calls no model may be written without async
            reward = await reward
    except BudgetExhaustedError:
        reward = agent.cut_short(task, recorder.messages)
    if recorder.fault is not None:
        raise recorder.fault  # the agent caught it, but what it did to the conversation stays done
    try:
        number = float(reward)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{type(agent).__name__} gave the reward {reward!r}; it must be a finite number")
    return number
