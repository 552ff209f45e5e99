"""The JSON Schema of a line of trajectories.jsonl."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

FILE = "trajectories.schema.json"


def trajectory_schema() -> dict[str, Any]:
    """The schema as plain values (draft 2020-12), of the version that this release writes."""
    schema: dict[str, Any] = json.loads((files("agentic_rl.view") / FILE).read_text(encoding="utf-8"))
    return schema
