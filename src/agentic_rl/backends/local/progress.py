"""How far a run has come, as a checkpoint keeps it. Needs no torch, so that a finished run is seen at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from agentic_rl.backends.local.data import Position

NAME = "progress.json"


@dataclass(frozen=True)
class Progress:
    """The state of a run between two steps, weights and optimizer aside."""

    step: int = 0
    """Whole training steps."""
    position: Position = field(default_factory=Position)
    evaluated: int = -1
    """The newest step after which the held-out tasks were evaluated; -1: never."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """The lengths in bytes of metrics.jsonl and trajectories.jsonl."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """The configuration, to say what changed between two starts."""

    def write(self, folder: Path) -> None:
        """Write it into the checkpoint `folder`."""
        (folder / NAME).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> Progress:
        """Read it from a whole checkpoint."""
        raw = json.loads((folder / NAME).read_text(encoding="utf-8"))
        return cls(**{**raw, "position": Position(**raw["position"])})


def changed_settings(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str = "") -> list[str]:
    """The keys whose values differ, as `key: before -> now`."""
    changes = []
    for key in [*now, *(key for key in before if key not in now)]:
        old, new = before.get(key), now.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            changes += changed_settings(old, new, f"{prefix}{key}.")
        elif old != new:
            changes.append(f"{prefix}{key}: {old} -> {new}")
    return changes
