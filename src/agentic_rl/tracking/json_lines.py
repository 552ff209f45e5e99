"""Every measurement as one JSON line."""

from __future__ import annotations

from collections.abc import Mapping

from agentic_rl.tracking.base import Phase
from agentic_rl.tracking.line_file import LineFile, finite


class JsonLinesTracker:
    """Writes `{"phase": ..., "step": ..., <metric>: <value>, ...}`; the file stays its owner's to close."""

    def __init__(self, file: LineFile) -> None:
        self._file = file

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """Nothing to write: a phase is a field of each line."""

    def log(self, phase: Phase, step: int, metrics: Mapping[str, float]) -> None:
        """Write one line and hand it to the operating system, so that `tail -f` shows it."""
        self._file.write({"phase": phase, "step": step, **finite(metrics)})
        self._file.flush()

    def note(self, text: str) -> None:
        """Notes are for people, not for this file."""

    def close(self) -> None:
        """Hand everything to the operating system."""
        self._file.flush()
