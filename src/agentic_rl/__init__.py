"""Reinforcement learning for LLM agents, from one checked YAML file."""

from agentic_rl._version import __version__

__all__ = ["__version__"]
