"""The backend verl: its configuration made from ours, our agents in its processes, its jobs supervised."""

from __future__ import annotations

from agentic_rl.backends.verl.composition import TEMPLATE
from agentic_rl.backends.verl.rendering import agent_loops, overrides, render

__all__ = ["TEMPLATE", "agent_loops", "overrides", "render"]
