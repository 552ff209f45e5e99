"""What serve mode reads of a configuration, as plain values that can be sent to other processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from agentic_rl.cluster.placement import Resources

PROXY = "vllm_proxy"
"""The engine whose servers somebody else runs."""
EXTERNAL = "vllm_external"
"""As PROXY, with one server, given by host and port."""


@dataclass(frozen=True)
class Infer:
    """An inference instance: servers of one model behind one name."""

    name: str
    model: str
    """The name by which the servers know the model."""
    servers: tuple[str, ...]
    """Where chats go, as URLs."""
    prefill: tuple[str, ...] = ()
    decode: tuple[str, ...] = ()
    engine: str = PROXY
    path: str = ""
    """The model's folder, of an engine that is started here."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """vLLM's own, of an engine that is started here."""
    resources: Resources = field(default_factory=Resources)
    key: str = ""
    """Where it stands in the file."""

    @property
    def started_here(self) -> bool:
        """Whether the service starts the servers itself."""
        return self.engine not in (PROXY, EXTERNAL)


@dataclass(frozen=True)
class AgentInstance:
    """An agent instance, with the inference instance that it talks to."""

    name: str
    agent: str
    """The name of the agent that it runs."""
    infer: Infer
    tokenizer: str
    engine: str = ""
    """`agent_engine`: who else may know the agent's name."""
    max_steps: int = 5
    max_prompt_length: int = 2048
    max_model_len: int = 4096
    n_parallel_agents: int = 1024
    sampling: Mapping[str, Any] = field(default_factory=dict)
    """Of `infer_service_params`: temperature, top_p, top_k, min_p, max_tokens."""
    trajectories: str = ""
    """`trajectory_save_dir`: a file of JSON lines, or a folder; empty: none is kept."""
    resources: Resources = field(default_factory=Resources)
    key: str = ""

    def served_by(self, infer: Infer) -> AgentInstance:
        """The instance with servers that have been started meanwhile."""
        return replace(self, infer=infer)


@dataclass(frozen=True)
class Train:
    """A train instance, which jobs run."""

    name: str
    folder: str
    """Where its runs leave what they measure, relative to the current folder."""
    resources: Resources = field(default_factory=Resources)
    key: str = ""


@dataclass(frozen=True)
class Settings:
    """Everything that serve mode needs."""

    config_path: str
    overrides: tuple[str, ...]
    host: str
    port: int
    log_dir: str
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"] = "INFO"
    infers: tuple[Infer, ...] = ()
    agents: tuple[AgentInstance, ...] = ()
    trains: tuple[Train, ...] = ()
