"""`agent_name: gym`: text environments, chosen by the rows of the data."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agentic_rl.agents.agent import Agent, ChatModel
from agentic_rl.agents.builtin.grid import Grid
from agentic_rl.agents.builtin.guess import Guess
from agentic_rl.agents.environment import Environment, EnvironmentAgent
from agentic_rl.agents.task import Task

GAMES = {game.name: game for game in (Grid, Guess)}
"""The environments that are built in."""


class GymAgent(Agent):
    """Plays the environment that a row names in `extra_info.environment`; the rollout earns the sum of its steps.

    Args:
        environments: further ones by name: a class, or another function without arguments that makes one.
        system_prompt: put before the prompt of the data, unless that has a system message of its own.
        max_turns: the most turns of a rollout; None: only the environment and `max_steps` limit them.
    """

    def __init__(
        self,
        environments: Mapping[str, Callable[[], Environment]] | None = None,
        system_prompt: str | None = None,
        max_turns: int | None = None,
    ) -> None:
        known: dict[str, Callable[[], Environment]] = {**GAMES, **(environments or {})}
        self._players = {name: EnvironmentAgent(make, system_prompt, max_turns) for name, make in known.items()}

    async def run(self, task: Task, model: ChatModel) -> float:
        """Play one episode."""
        name = _name(task)
        player = self._players.get(name)
        if player is None:
            raise ValueError(f"extra_info.environment is {name!r}; there are: {', '.join(self._players)}")
        return await player.run(task, model)


def _name(task: Task) -> str:
    """The row's `extra_info.environment`, or the end of its `data_source`: `gym/grid`."""
    return str(task.extra_info.get("environment") or task.data_source.removeprefix("gym/"))
