"""The agent instance of a run as what rollouts need to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl.backends.verl.inside.settings import RolloutSettings
from agentic_rl.config.aura.schema import AgentInstance
from agentic_rl.config.flat.schema import FlatConfig

SAMPLING = ("temperature", "top_p", "top_k")
"""Of `infer_service_params`: what verl has a key for, by which it also computes probabilities."""
PARAMETERS = (*SAMPLING, "min_p", "max_tokens", "model")
"""Of `infer_service_params`: what has an effect, or is a reference."""
ENVIRONMENT = {"max_steps": "max_steps", "tool_timeout": "tool_timeout", "trajectory_timeout": "trajectory_timeout"}
"""Key of `env_args` in released files -> the setting."""
FILE = "agent_engine_wrapper_path"
FURTHER = (FILE, "turn_timeout", "tool_timeout", "trajectory_timeout", "enable_thinking", "tool_parser", "env_args")
"""Keys of `agent_engine_kwargs` that are not documented and have an effect: the flat format's, and `env_args`."""


@dataclass(frozen=True)
class AgentSettings:
    """Reads one agent instance."""

    instance: AgentInstance
    wrote_max_steps: bool
    """Whether `max_steps` stands in the file; that of `env_args` counts where it does not."""

    @property
    def name(self) -> str:
        """Of the agent."""
        return self.instance.executor_kwargs.agent_engine_kwargs.agent_name

    @property
    def file(self) -> str | None:
        """The user's own file, as an absolute path."""
        given = self.further.get(FILE)
        return str(Path(given).absolute()) if isinstance(given, str) and given else None

    @property
    def engine(self) -> str:
        """What the file says that runs it."""
        return self.instance.executor_kwargs.agent_engine

    @property
    def tokenizer(self) -> str:
        """The folder of it."""
        return self.instance.executor_kwargs.agent_engine_kwargs.tokenizer

    @property
    def parameters(self) -> Mapping[str, Any]:
        """How it samples."""
        return self.instance.executor_kwargs.infer_service_params

    @property
    def environment(self) -> Mapping[str, Any]:
        """`env_args` of released files."""
        given = self.further.get("env_args")
        return given if isinstance(given, Mapping) else {}

    @property
    def further(self) -> Mapping[str, Any]:
        """Keys of `agent_engine_kwargs` that are not documented."""
        return self.instance.executor_kwargs.agent_engine_kwargs.model_extra or {}

    def sampling(self) -> dict[str, float | int]:
        """Verl's keys of `rollout` that the file sets here."""
        given = self.parameters
        return {name: given[name] for name in SAMPLING if is_number(given.get(name))}

    def rollouts(self, native: Mapping[str, Any], workers: int) -> RolloutSettings:
        """For each of `workers` agent-loop workers; the narrower of two limits of one thing holds."""
        own = self.instance.executor_kwargs.agent_engine_kwargs
        rollout = native["actor_rollout_ref"]["rollout"]
        response = rollout["response_length"]
        most = self.parameters.get("max_tokens")
        return RolloutSettings(
            agent_name=own.agent_name,
            agent_file=self.file,
            max_prompt_length=min(own.max_prompt_length, rollout["prompt_length"]),
            max_response_length=response,
            max_tokens=min(most, response) if is_whole(most) else response,
            max_steps=self._steps(),
            temperature=rollout["temperature"],
            top_k=rollout["top_k"],
            top_p=rollout["top_p"],
            min_p=float(self.parameters.get("min_p") or 0.0),
            n_parallel_agents=max(own.n_parallel_agents // workers, 1),
            turn_timeout=float(self._limit("turn_timeout")),
            trajectory_timeout=float(self._limit("trajectory_timeout")),
            truncation=native["data"]["truncation"],
            stepwise=False,
            seed=native["data"].get("seed") or 0,
            enable_thinking=self.further.get("enable_thinking"),
            tool_parser=str(self.further.get("tool_parser") or "auto"),
            agent_engine=self.engine,
            max_model_len=own.max_model_len,
            tool_timeout=self._own_limit("tool_timeout"),
            forget_thoughts=own.simplify_think_content,
        )

    def _steps(self) -> int:
        own = self.instance.executor_kwargs.agent_engine_kwargs
        given: Any = self.environment.get("max_steps")
        return int(given) if is_whole(given) and not self.wrote_max_steps else own.max_steps

    def _limit(self, name: str) -> float:
        """A time limit of the file's, or the flat format's default."""
        given = self._own_limit(name)
        return float(FlatConfig.model_fields[name].default) if given is None else given

    def _own_limit(self, name: str) -> float | None:
        given = self.further.get(name, self.environment.get(name))
        return float(given) if is_number(given) and given > 0 else None


def is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number above 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
