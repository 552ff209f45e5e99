"""The content of `agent_loops.yaml`, by which verl finds our agent loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from agentic_rl.backends.verl.inside.names import AGENT_LOOP
from agentic_rl.backends.verl.inside.settings import RolloutSettings


def entries(settings: RolloutSettings, names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Our loop under the configured agent's name and each further one of `names`, which rows of the data ask for."""
    # The user's file is the configured agent; the others are built in, registered or installed.
    others = [replace(settings, agent_name=name, agent_file=None) for name in dict.fromkeys(names)]
    every = [settings, *(one for one in others if one.agent_name != settings.agent_name)]
    return [{"name": one.agent_name, "_target_": AGENT_LOOP, "settings": one.to_text()} for one in every]
