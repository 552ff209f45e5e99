"""The one interface through which a run tells what happens, whoever listens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, Protocol

Phase = Literal["warm-up", "training", "evaluation"]
"""What a measurement belongs to; each phase counts its own steps."""


class Tracker(Protocol):
    """Listens to one run."""

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """A phase of `total` steps starts, of which `done` were made by an earlier start of the run."""
        ...

    def log(self, phase: Phase, step: int, metrics: Mapping[str, float]) -> None:
        """Step `step` has these measurements (names as `reward/mean`)."""
        ...

    def note(self, text: str) -> None:
        """Tell one line to the people who watch."""
        ...

    def close(self) -> None:
        """The run has ended; write what is still held back. Notes may follow."""
        ...


class Listeners:
    """Several trackers as one."""

    def __init__(self, trackers: Iterable[Tracker]) -> None:
        self._trackers = list(trackers)

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """Pass on to all."""
        for tracker in self._trackers:
            tracker.begin(phase, total, done)

    def log(self, phase: Phase, step: int, metrics: Mapping[str, float]) -> None:
        """Pass on to all."""
        for tracker in self._trackers:
            tracker.log(phase, step, metrics)

    def note(self, text: str) -> None:
        """Pass on to all."""
        for tracker in self._trackers:
            tracker.note(text)

    def close(self) -> None:
        """Close all, in the reverse order."""
        for tracker in reversed(self._trackers):
            tracker.close()
