"""Where the rollouts of one of verl's worker processes run: one agent, one engine, a bounded number at a time."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentic_rl.agents.file_loader import load_agent_file
from agentic_rl.agents.registry import find_agent
from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.verl.inside.engine import SERVED, Served, VerlEngine
from agentic_rl.backends.verl.inside.gathering import Arrival, Gathering
from agentic_rl.backends.verl.inside.settings import RolloutSettings
from agentic_rl.backends.verl.inside.tasks import Sampling
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver, Runnable
from agentic_rl.rollout.forgetting import ForgetfulConversation
from agentic_rl.rollout.segments import Conversation
from agentic_rl.rollout.wrapper_runner import takes_batches


@dataclass(frozen=True)
class Rolled:
    """A trajectory, and what verl's servers did for it."""

    trajectory: Trajectory
    served: Served


class RolloutRoom:
    """Makes the agent once, and runs every rollout of the process with it.

    Raises:
        AgentFileError: the agent's file can't be used.
        UnknownAgentError: no agent has the name.
        ChatTemplateError: the tokenizer's chat template can't be used.
    """

    def __init__(self, settings: RolloutSettings, server_manager: Any, tokenizer: Any, max_model_len: int) -> None:
        self.settings = settings
        self.chat_format = ChatFormat.configured(
            tokenizer, tool_parser=settings.tool_parser, enable_thinking=settings.enable_thinking
        )
        self.agent: Runnable = (
            find_agent(settings.agent_name, engine=settings.agent_engine)
            if settings.agent_file is None
            else load_agent_file(settings.agent_file)
        )
        self._engine = VerlEngine(server_manager, max_model_len)
        self._places = asyncio.Semaphore(settings.n_parallel_agents)
        self._one_batch = asyncio.Lock()
        self._drivers: dict[RolloutSettings, Driver] = {}
        self._gatherings: dict[Sampling, Gathering[Rolled]] = {}

    async def rollout(self, task: Task, sampling: Sampling, group: str) -> Rolled:
        """Run one task; a wrapper that takes whole batches gets it together with the others of its step.

        Args:
            task: what to run; its `greedy` goes with `sampling`.
            sampling: as verl asks for it.
            group: the same for all copies of a prompt.

        Raises:
            AgentFileError: the class of a wrapper can't be made.
        """
        if isinstance(self.agent, type) and takes_batches(self.agent):
            return await self._gathering(sampling)(Arrival(task, group))
        async with self._places:
            (rolled,) = await self._run([task], sampling)
        return rolled

    async def _run(self, tasks: Sequence[Task], sampling: Sampling) -> list[Rolled]:
        served = Served()
        SERVED.set(served)  # of this task alone: every rollout and every batch has its own
        trajectories = await self._driver(sampling).run(self.agent, tasks)
        return [Rolled(trajectory, served) for trajectory in trajectories]

    async def _run_batch(self, tasks: Sequence[Task], sampling: Sampling) -> list[Rolled]:
        async with self._one_batch:  # the wrapper is one object, made to run one batch at a time
            return await self._run(tasks, sampling)

    def _gathering(self, sampling: Sampling) -> Gathering[Rolled]:
        if sampling not in self._gatherings:
            self._gatherings[sampling] = Gathering(lambda tasks: self._run_batch(tasks, sampling))
        return self._gatherings[sampling]

    def _driver(self, sampling: Sampling) -> Driver:
        """The driver for this way of sampling; greedy tasks go to the one of training, since they say it themselves."""
        settings = self.settings
        if not sampling.greedy:
            settings = replace(settings, temperature=sampling.temperature, top_k=sampling.top_k, top_p=sampling.top_p)
        if settings not in self._drivers:
            self._drivers[settings] = _driver(settings, self._engine, self.chat_format)
        return self._drivers[settings]


def _driver(settings: RolloutSettings, engine: VerlEngine, chat_format: ChatFormat) -> Driver:
    known = inspect.signature(Driver).parameters
    limits = {name: value for name, value in settings.to_dict().items() if name in known}
    conversation = ForgetfulConversation if settings.forget_thoughts else Conversation
    return Driver(engine, chat_format, conversation=conversation, **limits)


_ROOMS: dict[tuple[RolloutSettings, int], RolloutRoom | Exception] = {}


def room_of(settings: RolloutSettings, server_manager: Any, tokenizer: Any, max_model_len: int) -> RolloutRoom:
    """The room of this process for `settings`; made at the first call.

    Raises:
        Exception: what making it raised, at the first call and every later one.
    """
    key = (settings, id(server_manager))  # the room holds the manager, so that no other takes its id
    if key not in _ROOMS:
        try:
            _ROOMS[key] = RolloutRoom(settings, server_manager, tokenizer, max_model_len)
        except Exception as error:  # not only ours: this is where the user's own file is imported
            _ROOMS[key] = error
    room = _ROOMS[key]
    if isinstance(room, Exception):
        raise room.with_traceback(None)
    return room
