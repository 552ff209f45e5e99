"""Runs a user's `BaseEngineWrapper` with our engine, in either of its two forms."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Sequence
from typing import Any

from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import AgentFileError, LateError, TrajectoryFieldError
from agentic_rl.agents.own_lines import constructor_line, own_line, user_file, with_own_line
from agentic_rl.agents.task import Task
from agentic_rl.agents.threads import run_in_thread
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.agents.wrapper import BaseEngineWrapper
from agentic_rl.agents.wrapper_task import WrapperTask
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.completions import CompletionsFunction
from agentic_rl.rollout.crew import Crew
from agentic_rl.rollout.engines.base import Engine
from agentic_rl.rollout.gateway import Gateway, GatewayMissingError
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.wrapper_results import checked, in_order, lacks_tokens, with_segments
from agentic_rl.rollout.wrapper_steps import segments_of

_LOGGER = logging.getLogger(__name__)


class WrapperRunner:
    """Makes one object of the wrapper's class, at the first batch, and gives it all tasks."""

    def __init__(
        self,
        wrapper_class: type[BaseEngineWrapper],
        engine: Engine,
        chat_format: ChatFormat,
        limits: Limits,
        *,
        agent_name: str,
        n_parallel_agents: int,
        gateway: Gateway,
    ) -> None:
        self._class = wrapper_class
        self._limits = limits
        self._agent_name = agent_name
        self._n_parallel_agents = n_parallel_agents
        self._format = chat_format
        self._completions = CompletionsFunction(engine, chat_format, limits)
        self._gateway = gateway
        self._wrapper: BaseEngineWrapper | None = None
        self._making = asyncio.Lock()

    async def run(self, tasks: Sequence[Task]) -> list[Trajectory]:
        """Run every task; return the trajectories in the order of the tasks, failed ones with `error`.

        Calls may overlap where the wrapper takes single tasks.

        Raises:
            AgentFileError: the wrapper's constructor or its `initialize` raises.
        """
        if not tasks:
            return []
        wrapper = await self._started()
        self._completions.open(tasks[0].seed, greedy=all(task.greedy for task in tasks))
        try:
            return await self._rolled_out(wrapper, tasks)
        finally:
            self._completions.close()

    async def _started(self) -> BaseEngineWrapper:
        async with self._making:
            if self._wrapper is None:
                addresses = self._addresses()
                self._wrapper = await run_in_thread(lambda: self._made(addresses), "wrapper")
        return self._wrapper

    def _addresses(self) -> list[str]:
        try:
            return [self._gateway.open_batch(self._completions, asyncio.get_running_loop())]
        except GatewayMissingError as error:
            _LOGGER.info("server_addresses of %s are empty: %s", self._class.__name__, error)
            return []

    def _made(self, addresses: list[str]) -> BaseEngineWrapper:
        limits = self._limits
        try:
            wrapper = self._class(
                agent_name=self._agent_name,
                tokenizer=self._format.tokenizer,
                sampling_params={
                    "temperature": limits.temperature,
                    "top_k": limits.top_k,
                    "top_p": limits.top_p,
                    "min_p": limits.min_p,
                    "max_tokens": limits.max_tokens,
                },
                max_prompt_length=limits.max_prompt_length,
                max_response_length=limits.max_response_length,
                n_parallel_agents=self._n_parallel_agents,
                max_steps=limits.max_steps,
            )
            wrapper.server_addresses = addresses
            wrapper.completions = [self._completions]
            wrapper.initialize()
        except Exception as error:
            file = inspect.getfile(self._class)
            problem = f"{self._class.__name__} can't be started: {type(error).__name__}: {error}"
            line = own_line(error, file) or constructor_line(self._class, file)
            raise AgentFileError(file, line, problem) from error
        return wrapper

    async def _rolled_out(self, wrapper: BaseEngineWrapper, tasks: Sequence[Task]) -> list[Trajectory]:
        if not takes_batches(type(wrapper)):
            crew: Crew[Task, Trajectory] = Crew(self._n_parallel_agents)
            return await crew.work_through(tasks, lambda task: self._single(wrapper, task, crew))
        try:
            with Deadline(self._limits.trajectory_timeout, "the batch of rollouts"):
                views: list[dict[str, Any]] = [self._view(task) for task in tasks]
                results = await run_in_thread(lambda: wrapper.generate_agent_trajectories_async(views), "wrapper")
            ordered = in_order(results, tasks)
        except (Exception, SystemExit) as error:
            return [self._failed(task, error) for task in tasks]
        return [self._checked(result, task) for result, task in zip(ordered, tasks, strict=True)]

    async def _single(self, wrapper: BaseEngineWrapper, task: Task, crew: Crew[Task, Trajectory]) -> Trajectory:
        try:
            with Deadline(self._limits.trajectory_timeout, "the rollout"):
                result: Any = wrapper.generate_trajectory(self._view(task), **_queue(wrapper))
                if inspect.isawaitable(result):
                    result = await result
        except asyncio.CancelledError as error:
            if crew.stopping:
                raise
            return self._failed(task, error)
        except (Exception, SystemExit) as error:
            return self._failed(task, error)
        if result is None:
            return self._failed(task, TrajectoryFieldError("generate_trajectory returned None; return a Trajectory"))
        return self._checked(result, task)

    def _checked(self, result: object, task: Task) -> Trajectory:
        try:
            if lacks_tokens(result):
                steps: Any = getattr(result, "steps", ())
                result = with_segments(result, segments_of(steps, self._format, self._completions.answers_to))
            trajectory = checked(result, task)
        except ValueError as error:
            return self._failed(task, error)
        if not trajectory.response_logprobs:
            tokens = [*trajectory.prompt_tokens, *trajectory.response_tokens]
            trajectory.response_logprobs = self._completions.logprobs_of(tokens, list(trajectory.response_masks))
        return trajectory

    def _failed(self, task: Task, error: BaseException) -> Trajectory:
        return Trajectory(
            prompt_tokens=[],
            response_tokens=[],
            response_masks=[],
            idx=task.idx,
            chat_completions=list(task.prompt),
            finish_reason="timeout" if isinstance(error, LateError) else "error",
            error=with_own_line(error, user_file(self._class)),
        )

    def _view(self, task: Task) -> WrapperTask:
        return WrapperTask.of(task, self._agent_name)


def _queue(wrapper: BaseEngineWrapper) -> dict[str, None]:
    """What to pass on beside the task: nothing is streamed, but some methods have no default for it."""
    return {"stream_queue": None} if "stream_queue" in inspect.signature(wrapper.generate_trajectory).parameters else {}


def takes_batches(wrapper: type[BaseEngineWrapper]) -> bool:
    """Whether a wrapper runs all tasks of a step in one call; it does not where it has the form for single tasks."""
    return wrapper.generate_trajectory is BaseEngineWrapper.generate_trajectory
