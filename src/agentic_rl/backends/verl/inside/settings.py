"""What a rollout inside verl needs to know: plain values that travel through `agent_loops.yaml`."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.rollout.limits import Truncation

if TYPE_CHECKING:
    from agentic_rl.config.flat import FlatConfig


@dataclass(frozen=True)
class RolloutSettings:
    """The agent and the limits of its rollouts; the names are the configuration's."""

    agent_name: str
    agent_file: str | None
    """The user's own file, as an absolute path; None: the agent called `agent_name`."""
    max_prompt_length: int
    max_response_length: int
    max_tokens: int
    max_steps: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    n_parallel_agents: int
    """Rollouts in flight in one of verl's agent-loop workers."""
    turn_timeout: float
    trajectory_timeout: float
    truncation: Truncation
    stepwise: bool
    """Each turn is one sample (`use_stepwise_advantage`)."""
    seed: int
    enable_thinking: bool | None = None
    tool_parser: str = "auto"
    agent_engine: str = ""
    """What the file says that runs agents; see `find_agent`."""
    max_model_len: int | None = None
    """Tokens of the longest sequence; None: as many as the engine takes."""
    tool_timeout: float | None = None
    """Seconds of a tool's call; None: as long as a turn."""
    forget_thoughts: bool = False
    """Whether the policy is shown its earlier replies without their thoughts."""

    def to_dict(self) -> dict[str, Any]:
        """The settings by their names."""
        return asdict(self)

    def to_text(self) -> str:
        """The settings as JSON: of a mapping verl would make a copy, value by value, for every rollout."""
        return json.dumps(asdict(self)).replace("$", r"\u0024")  # `${` begins a reference to another key

    @classmethod
    @lru_cache
    def from_text(cls, text: str) -> RolloutSettings:
        """The settings that `to_text` gave.

        Raises:
            TypeError: a key is missing or unknown.
        """
        return cls(**json.loads(text))


def settings_of(config: FlatConfig, workers: int) -> RolloutSettings:
    """The settings for each of `workers` agent-loop workers, which share `n_parallel_agents`.

    Raises:
        LookupError: the configuration has no section `verl`.
    """
    if config.verl is None:
        raise LookupError("the configuration has no section verl")
    file = config.agent_engine_wrapper_path
    return RolloutSettings(
        agent_name=config.agent_name,
        agent_file=None if file is None else str(Path(file).absolute()),
        max_prompt_length=config.max_prompt_length,
        max_response_length=config.verl.max_response_length,
        max_tokens=config.max_tokens,
        max_steps=config.max_steps,
        temperature=config.temperature,
        top_k=config.top_k,
        top_p=config.top_p,
        min_p=config.min_p,
        n_parallel_agents=max(config.n_parallel_agents // workers, 1),
        turn_timeout=config.turn_timeout,
        trajectory_timeout=config.trajectory_timeout,
        truncation=config.verl.truncation,
        stepwise=config.use_stepwise_advantage,
        seed=config.seed,
        enable_thinking=config.enable_thinking,
        tool_parser=config.tool_parser,
    )
