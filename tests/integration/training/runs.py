"""A project being trained in a folder, and what the run left there."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TIMES = ("time/", "rollout/tokens_per_second")
"""Metrics that differ between two runs of the same numbers."""


@dataclass(frozen=True)
class Run:
    """The folder in which a project is trained, and what a run left in it."""

    cwd: Path
    config: Path

    @property
    def folder(self) -> Path:
        return self.cwd / "checkpoints" / "tiny" / "first"

    @property
    def output(self) -> str:
        return (self.cwd / "stderr.txt").read_text()

    def metrics(self) -> list[dict[str, Any]]:
        """The lines of metrics.jsonl without times."""
        lines = (self.folder / "metrics.jsonl").read_text().splitlines()
        return [
            {name: value for name, value in json.loads(line).items() if not name.startswith(TIMES)} for line in lines
        ]

    def trajectories(self) -> bytes:
        return (self.folder / "trajectories.jsonl").read_bytes()

    def weights(self, step: int = 6) -> bytes:
        return (self.folder / f"global_step_{step}" / "model.safetensors").read_bytes()

    def steps(self) -> list[int]:
        return sorted(int(path.name.rpartition("_")[2]) for path in self.folder.glob("global_step_*"))


def assert_equal_runs(run: Run, expected: Run) -> None:
    """Weights, metrics (times aside) and trajectories, bit for bit; nothing half done is left."""
    assert run.metrics() == expected.metrics()
    assert run.trajectories() == expected.trajectories()
    assert run.weights() == expected.weights()
    assert run.steps() == expected.steps()
    assert not list(run.folder.glob(".*ing_*"))
