"""The flat format: shared keys at the top level, one section for each backend."""

from __future__ import annotations

from agentic_rl.config.flat.local import LocalSection
from agentic_rl.config.flat.mindspeed_rl import MindSpeedSection
from agentic_rl.config.flat.schema import BUILTIN_AGENTS, FlatConfig
from agentic_rl.config.flat.verl import VerlSection

__all__ = ["BUILTIN_AGENTS", "FlatConfig", "LocalSection", "MindSpeedSection", "VerlSection"]
