"""What this machine is and whether a run can start on it: `agentic-rl doctor`. Imports no torch and starts no run."""

from __future__ import annotations

from agentic_rl.machine.doctor import Diagnosis, examine
from agentic_rl.machine.observation import Observation, Status

__all__ = ["Diagnosis", "Observation", "Status", "examine"]
