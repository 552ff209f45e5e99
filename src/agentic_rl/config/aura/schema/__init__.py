"""The instances format, typed: every documented key with its default, range and documentation."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from agentic_rl.config.aura.schema.instances import AgentInstance, InferInstance, TrainInstance
from agentic_rl.config.aura.schema.run import AgenticAI, DirectConf, Entrypoint, ServeConf
from agentic_rl.config.aura.schema.section import Section
from agentic_rl.config.aura.schema.verl_conf import VerlConf

__all__ = [
    "AgentInstance",
    "AgenticAI",
    "AuraConfig",
    "DirectConf",
    "Entrypoint",
    "InferInstance",
    "ServeConf",
    "TrainInstance",
    "VerlConf",
]


class AuraConfig(Section):
    """A configuration of the instances format."""

    agentic_ai: AgenticAI
    """Mode and log of the run."""
    serve_conf: ServeConf | None = None
    """Where the service listens; required in serve mode."""
    direct_conf: DirectConf = Field(default_factory=DirectConf)
    """What direct mode runs."""
    verl_conf: VerlConf | None = None
    """Configuration of verl."""
    msrl_conf: dict[str, Any] | None = None
    """Native configuration of MindSpeed-RL."""
    train_instances: list[TrainInstance] = Field(default=[])
    """What trains."""
    agent_instances: list[AgentInstance] = Field(default=[])
    """What acts."""
    infer_instances: list[InferInstance] = Field(default=[])
    """What infers."""
