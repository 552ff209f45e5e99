"""How far a run has come, as its folder shows it from outside: by its newest checkpoint and its last measured step."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from agentic_rl.backends.run_folder import METRICS
from agentic_rl.backends.verl.checkpoints import STEP_FOLDER

_TAIL_BYTES = 1 << 16


@dataclass(frozen=True)
class Progress:
    """What a run's folder shows at one moment."""

    checkpoint: int = -1
    """Step of the newest checkpoint folder, whole or not; -1: there is none."""
    step: int = 0
    """The last step that was measured."""
    line: bytes = b""
    """The line that says so."""
    size: int = 0
    """Bytes of the measurements."""

    @property
    def reached(self) -> int:
        """The furthest step."""
        return max(self.step, self.checkpoint, 0)


def look(run: Path) -> Progress:
    """Read a run's folder, which may not be there yet, or be written meanwhile."""
    line, size = _last_line(run / METRICS)
    return Progress(_newest_checkpoint(run), _step(line), line, size)


def stepped(before: Progress, after: Progress) -> bool:
    """Whether a start that began at `before` made a step.

    It goes on from the newest checkpoint, and cuts the measurements of later steps when it does: lines of those that
    are as they were have been left by an earlier start.
    """
    if after.checkpoint > before.checkpoint:
        return True
    changed = (before.line, before.size) != (after.line, after.size)
    return changed and after.step > max(before.checkpoint, 0)


def stuck(before: Progress, after: Progress) -> bool:
    """Whether a start ended at the very step at which the one before it had ended, with no newer checkpoint."""
    return after.checkpoint <= before.checkpoint and after.step == before.step


def _newest_checkpoint(run: Path) -> int:
    with contextlib.suppress(OSError):
        found = (STEP_FOLDER.fullmatch(entry.name) for entry in run.iterdir())
        return max((int(match[1]) for match in found if match), default=-1)
    return -1


def _last_line(path: Path) -> tuple[bytes, int]:
    """The last whole line, and the length of the file."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().split(b"\n")[:-1]
    except OSError:
        return b"", 0
    return (lines[-1] if lines else b""), size


def _step(line: bytes) -> int:
    try:
        step = json.loads(line)["step"]
    except (ValueError, KeyError, TypeError):
        return 0
    return int(step) if isinstance(step, (int, float)) else 0
