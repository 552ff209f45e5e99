"""What our classes inside verl need beyond verl's own configuration. Importable without verl."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class JobOptions:
    """Options of one job; plain values, since they travel to another process."""

    max_failed_fraction: float
    """Of the rollouts of one step."""
    keep_checkpoints: int
    stepwise: bool
    """Each turn of a trajectory is a sample of its own."""
    stop_file: str
    """Where it exists after a step, the job saves and stops."""
    events: str
    """A file of JSON lines that tells of the job's stages."""
    trajectories: str = ""
    """A file, absolute, to which rollouts are written as well; empty: none. It grows over runs and starts."""
