"""Runs an agent's rollouts, each on its own: whatever goes wrong in one is recorded, and the others go on."""

from __future__ import annotations

import asyncio
import inspect
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from itertools import count
from typing import Any

from agentic_rl.agents.agent import Agent
from agentic_rl.agents.calls import DEFAULT_TIMEOUT
from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import BudgetExhaustedError, LateError
from agentic_rl.agents.own_lines import user_file
from agentic_rl.agents.task import Task
from agentic_rl.agents.threads import run_in_thread
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.rollout.crew import Crew
from agentic_rl.rollout.leftovers import Leftovers
from agentic_rl.rollout.recorder import Recorder
from agentic_rl.rollout.retries import Retries
from agentic_rl.rollout.watchdog import ROLLOUT, Watchdog


class AgentRunner:
    """Runs one agent on a list of tasks, once.

    Args:
        agent: what is run.
        new_recorder: gives each try of a task the model that it talks to.
        n_parallel_agents: how many rollouts are in flight.
        trajectory_timeout: seconds of one try.
        tool_timeout: seconds of a call of a tool that says nothing itself.
        turn_timeout: seconds for which code in an async `run` may block.
        retries: which failed rollouts begin anew.
    """

    def __init__(
        self,
        agent: Agent,
        new_recorder: Callable[[Task], Recorder],
        *,
        n_parallel_agents: int,
        trajectory_timeout: float,
        tool_timeout: float,
        turn_timeout: float,
        retries: Retries,
    ) -> None:
        self._agent = agent
        self._file = user_file(type(agent))
        self._is_async = inspect.iscoroutinefunction(agent.run)
        self._new_recorder = new_recorder
        self._trajectory_timeout = trajectory_timeout
        self._tool_timeout = tool_timeout
        self._turn_timeout = turn_timeout
        self._retries = retries
        self._crew: Crew[Task, Trajectory] = Crew(n_parallel_agents)

    async def results(self, tasks: Sequence[Task]) -> AsyncGenerator[tuple[int, Trajectory], None]:
        """Give each trajectory as it comes, with the number of its task; see `Crew.results`."""
        leftovers = Leftovers()
        try:
            with Watchdog(self._turn_timeout):
                async with aclosing(self._crew.results(tasks, self._work)) as finished:
                    async for result in finished:
                        yield result
        finally:
            leftovers.tell(self._file)

    async def _work(self, task: Task) -> Trajectory:
        DEFAULT_TIMEOUT.set(self._tool_timeout)  # in the context of this worker alone
        ROLLOUT.set(True)
        for tries in count(1):
            recorder = self._new_recorder(task)
            reward, cause = await self._attempt(task, recorder)
            if cause is None or not self._retries.wants(cause, tries):
                break
        trajectory = recorder.trajectory(reward) if cause is None else recorder.failed(cause, self._file)
        if tries > 1:
            trajectory.metrics["tries"] = tries
        return trajectory

    async def _attempt(self, task: Task, recorder: Recorder) -> tuple[float, BaseException | None]:
        """Return the reward and, if the rollout failed, the cause."""
        given_up = False

        def stuck(worker: asyncio.Task[Any], late: LateError) -> None:
            nonlocal given_up
            given_up = True
            recorder.end()
            self._crew.give_up(worker, recorder.failed(late, self._file), self._work)

        try:
            with Deadline(self._trajectory_timeout, "the rollout", stuck):
                return await self._rewarded(task, recorder), None
        except asyncio.CancelledError as error:
            if self._crew.stopping:
                raise
            return 0.0, error
        except LateError as error:
            return 0.0, None if given_up else error  # what was given up has its trajectory, and is not tried again
        except (KeyboardInterrupt, GeneratorExit):
            raise
        except BaseException as error:  # agents raise SystemExit, and classes of their own
            return 0.0, error
        finally:
            recorder.end()

    async def _rewarded(self, task: Task, recorder: Recorder) -> float:
        try:
            reward: Any = await self._ran(task, recorder)
        except BudgetExhaustedError:
            reward = self._agent.cut_short(task, recorder.messages)
        except Exception:
            if not recorder.spent:
                raise
            reward = self._agent.cut_short(task, recorder.messages)  # its client has an error of its own for that
        if recorder.fault is not None:
            raise recorder.fault  # the agent caught it, but what it did to the conversation stays done
        try:
            number = float(reward)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            name = type(self._agent).__name__
            raise ValueError(f"{name} gave the reward {reward!r}; it must be a finite number")
        return number

    async def _ran(self, task: Task, recorder: Recorder) -> Any:
        """Await `run`; without `async` it runs in a thread, since it may wait for the gateway, which runs here."""
        if self._is_async:
            return await self._agent.run(task, recorder)
        reward: Any = await run_in_thread(partial(self._agent.run, task, recorder), "agent")
        return await reward if inspect.isawaitable(reward) else reward
