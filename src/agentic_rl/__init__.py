"""Reinforcement learning for LLM agents, from one checked YAML file.

The names below are all that is promised. Each is imported when it is first used: `import agentic_rl` loads nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agentic_rl._version import __version__

if TYPE_CHECKING:
    from agentic_rl.agents import (
        Agent,
        BaseEngineWrapper,
        Environment,
        EnvironmentAgent,
        McpServer,
        MemoryConfig,
        MemorySummary,
        Observation,
        Step,
        StepTrajectory,
        Task,
        Tool,
        ToolAgent,
        Trajectory,
        register_agent,
        tool,
    )
    from agentic_rl.backends import Trainer
    from agentic_rl.config.aura import AuraConfig
    from agentic_rl.config.diagnostics import ConfigError, Finding, Report
    from agentic_rl.config.flat import FlatConfig
    from agentic_rl.config.load import check, load_config
    from agentic_rl.training import train

__all__ = [
    "Agent",
    "AuraConfig",
    "BaseEngineWrapper",
    "ConfigError",
    "Environment",
    "EnvironmentAgent",
    "Finding",
    "FlatConfig",
    "McpServer",
    "MemoryConfig",
    "MemorySummary",
    "Observation",
    "Report",
    "Step",
    "StepTrajectory",
    "Task",
    "Tool",
    "ToolAgent",
    "Trainer",
    "Trajectory",
    "__version__",
    "check",
    "load_config",
    "register_agent",
    "tool",
    "train",
]

_ROOMS = {
    "agentic_rl.agents": (
        "Agent BaseEngineWrapper Environment EnvironmentAgent McpServer MemoryConfig MemorySummary Observation "
        "Step StepTrajectory Task Tool ToolAgent Trajectory register_agent tool"
    ),
    "agentic_rl.backends": "Trainer",
    "agentic_rl.config.aura": "AuraConfig",
    "agentic_rl.config.diagnostics": "ConfigError Finding Report",
    "agentic_rl.config.flat": "FlatConfig",
    "agentic_rl.config.load": "check load_config",
    "agentic_rl.training": "train",
}
_HOMES = {name: room for room, names in _ROOMS.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
