"""Tasks that are played: an environment answers each turn of the policy, and says what the turn earned."""

from __future__ import annotations

import contextlib
import inspect
import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from agentic_rl.agents.agent import Agent, ChatModel
from agentic_rl.agents.calls import call
from agentic_rl.agents.errors import BudgetExhaustedError
from agentic_rl.agents.task import Message, Task, with_system_prompt
from agentic_rl.agents.tool import shortened

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True)
class Observation:
    """What a step of the policy led to."""

    text: str = ""
    """Shown to the policy as a user's message before its next turn; a very long one with its middle left out."""
    reward: float = 0.0
    """What this step earned; the rollout earns the sum."""
    done: bool = False
    """The episode is over: the policy gets no further turn."""

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TypeError(f"the text of an Observation is a {type(self.text).__name__}; write it as text")


class Environment(ABC):
    """One episode of one rollout; an object is used once.

    The three methods are plain or `async`. A plain one runs in a thread of its own, so that it may block, unless the
    class says `inline = True`: its methods take well below a millisecond, always.
    """

    inline: ClassVar[bool] = False

    @abstractmethod
    def reset(self, task: Task) -> str | list[Message] | Awaitable[str | list[Message]]:
        """Begin the episode of `task`.

        Returns:
            What the policy is shown first. A text follows the prompt of the data: in its last message if that is a
            user's, in a user's message of its own otherwise. Messages are the whole conversation so far, instead of
            the prompt of the data.
        """

    @abstractmethod
    def step(self, message: Message) -> Observation | Awaitable[Observation]:
        """Do what the policy's `message` says. One that makes no sense deserves an observation that says so.

        `message["finish_reason"]` is `length` where the turn's budget cut it off.
        """

    def close(self) -> Awaitable[None] | None:  # noqa: B027 - many have nothing to free
        """Free what the episode holds. Called once, however it ended; perhaps while a late `step` still runs."""


class EnvironmentAgent(Agent):
    """Plays an environment to its end, or until a budget ends.

    The rollout earns the sum of its steps' rewards; each is kept in `Trajectory.steps`.

    Args:
        environment: makes the environment of a rollout: its class, or another function without arguments.
        system_prompt: put before the prompt of the data, unless that has a system message of its own.
        max_turns: the most turns of a rollout; None: only the configuration's `max_steps` limits them.
    """

    def __init__(
        self, environment: Callable[[], Environment], system_prompt: str | None = None, max_turns: int | None = None
    ) -> None:
        self.environment = environment
        self.system_prompt = system_prompt
        self.max_turns = max_turns

    def opening(self, task: Task, first: str | Sequence[Message]) -> list[Message]:
        """Return the messages that a rollout starts with, given what `reset` returned."""
        if not isinstance(first, str):
            return with_system_prompt(self.system_prompt, first)
        messages = with_system_prompt(self.system_prompt, task.prompt)
        last = messages[-1] if messages else {}
        if not first:
            return messages
        if last.get("role") == "user" and isinstance(last.get("content"), str):
            return [*messages[:-1], {**last, "content": f"{last['content']}\n\n{first}".strip()}]
        return [*messages, {"role": "user", "content": first}]

    def reward(self, task: Task, observations: Sequence[Observation]) -> float:
        """Judge an episode by what its steps led to, none if the policy had no turn: the sum, if not overridden."""
        return math.fsum(observation.reward for observation in observations)

    async def run(self, task: Task, model: ChatModel) -> float:
        """Play one episode."""
        environment = self.environment()
        if not isinstance(environment, Environment):
            raise TypeError(f"the environment is a {type(environment).__name__}; make it a subclass of Environment")
        observations: list[Observation] = []
        try:
            messages = self.opening(task, await _called(environment, "reset", task))
            with contextlib.suppress(BudgetExhaustedError):  # a normal end: what was earned until then counts
                await self._play(environment, messages, model, observations)
        finally:
            await _closed(environment)
        return self.reward(task, observations)

    async def _play(
        self, environment: Environment, messages: list[Message], model: ChatModel, observations: list[Observation]
    ) -> None:
        while self.max_turns is None or len(observations) < self.max_turns:
            reply = await model.chat(messages)
            observation = await _called(environment, "step", reply)
            if not isinstance(observation, Observation):
                raise TypeError(
                    f"{type(environment).__name__}.step returned a {type(observation).__name__}; return an Observation"
                )
            model.reward_step(observation.reward)
            observations.append(observation)
            if observation.done:
                return
            messages += [reply, {"role": "user", "content": shortened(observation.text)}]


async def _called(environment: Environment, method: str, *arguments: Any) -> Any:
    function = getattr(environment, method)
    inline = environment.inline and not inspect.iscoroutinefunction(function)
    return await call(function, *arguments, what=f"{type(environment).__name__}.{method}", inline=inline)


async def _closed(environment: Environment) -> None:
    """Close an environment; one that fails to has nothing to do with what the rollout earned."""
    try:
        await _called(environment, "close")
    except Exception as error:
        _LOGGER.warning("%s.close: %s: %s", type(environment).__name__, type(error).__name__, error)
