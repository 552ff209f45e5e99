"""`BaseEngineWrapper`: the class of existing agent files, which run their rollouts themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from agentic_rl.agents.trajectory import Trajectory

Completions = Callable[..., Awaitable[dict[str, Any]]]
"""Takes a completions or chat completions body as keywords, or as one dictionary; returns OpenAI's answer."""


class BaseEngineWrapper:
    """Runs agents of another framework. A subclass has one of the two `generate` methods.

    `server_addresses` and `completions` are set after the constructor and before `initialize()`. A subclass may call
    this constructor without arguments and set the attributes itself.
    """

    def __init__(  # noqa: PLR0917 - existing subclasses pass them by position
        self,
        agent_name: str = "",
        tokenizer: Any = None,
        sampling_params: dict[str, Any] | None = None,
        max_prompt_length: int = 131_072,
        max_response_length: int = 8_192,
        n_parallel_agents: int = 8,
        max_steps: int = 5,
    ) -> None:
        self.agent_name = agent_name
        self.tokenizer = tokenizer
        self.sampling_params = sampling_params
        self.max_prompt_length = max_prompt_length
        self.max_response_length = max_response_length
        self.n_parallel_agents = n_parallel_agents
        self.max_steps = max_steps
        self.server_addresses: list[str] = []
        """`ip:port` of each OpenAI-compatible server, without scheme; empty where none runs."""
        self.completions: list[Completions] = []
        """One async function for each server; see `Completions`."""

    def initialize(self) -> None:
        """Prepare what needs `completions` or `server_addresses`; called once, before the first rollout."""

    def generate_agent_trajectories_async(self, tasks: list[dict[str, Any]]) -> list[Trajectory]:
        """Run all tasks of a step and return their trajectories (a blocking function, in spite of its name).

        The copies of one prompt are adjacent. `idx` of a trajectory is the place of its task in `tasks`.
        """
        raise NotImplementedError(f"{type(self).__name__} runs single tasks; call generate_trajectory")

    async def generate_trajectory(self, task: Any, stream_queue: Any = None) -> Trajectory:
        """Run one task. `task` is a dict whose keys are attributes, too."""
        raise NotImplementedError(f"{type(self).__name__} runs whole batches; call generate_agent_trajectories_async")
