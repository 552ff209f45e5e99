"""The flat format: shared keys at the top level, one section for each backend."""

from __future__ import annotations

from agentic_rl.config.agent_names import BUILTIN_AGENTS
from agentic_rl.config.flat.files import CheckedFiles, check_files
from agentic_rl.config.flat.json_schema import json_schema
from agentic_rl.config.flat.local import LocalSection
from agentic_rl.config.flat.mindspeed_rl import MindSpeedSection
from agentic_rl.config.flat.schema import FlatConfig
from agentic_rl.config.flat.validation import Validated, validate
from agentic_rl.config.flat.verl import VerlSection

__all__ = [
    "BUILTIN_AGENTS",
    "CheckedFiles",
    "FlatConfig",
    "LocalSection",
    "MindSpeedSection",
    "Validated",
    "VerlSection",
    "check_files",
    "json_schema",
    "validate",
]
