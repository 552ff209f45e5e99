"""The trainer: what every backend offers. Importable without torch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agentic_rl.config.diagnostics import Report
from agentic_rl.config.memory import Estimate

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded

ExitReason = Literal["finished", "already_finished", "evaluated", "interrupted"]


@dataclass(frozen=True)
class Plan:
    """Everything that training would do, said without doing it. All values are JSON's own types."""

    backend: str
    steps: list[str]
    """What happens, in order, one sentence each."""
    native_configuration: Mapping[str, Any] = field(default_factory=dict)
    """What the backend reads: the configuration after defaults, aliases and corrections."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables that will be set."""
    processes: list[str] = field(default_factory=list)
    devices: list[str] = field(default_factory=list)
    memory: Estimate | None = None
    """What one device will hold, estimated; None where the model's size is not known or nothing is trained."""
    no_memory: str = ""
    """Why there is no estimate of the memory."""
    ports: list[int] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    """Files and folders that are read, as absolute paths."""
    writes: list[str] = field(default_factory=list)
    """Files and folders that are written, as absolute paths."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: every field by its name."""
        return {**asdict(self), "memory": self.memory.to_dict() if self.memory else None}

    def to_text(self) -> str:
        """The form for people: one heading a field; empty fields say `none`."""
        lines = [f"backend: {self.backend}"]
        without = [self.no_memory] if self.no_memory else []
        for title, content in {**self.to_dict(), "memory": self.memory.lines() if self.memory else without}.items():
            if title not in ("backend", "no_memory"):
                lines += ["", title.replace("_", " ") + ":", *_indented(content)]
        return "\n".join(lines)


def _indented(content: Any) -> list[str]:
    return [f"  {line}" for line in _lines(content)] or ["  none"]


def _lines(content: Any) -> list[str]:
    """Items and pairs as lines; a mapping in a mapping is indented below its key."""
    if not isinstance(content, Mapping):
        return [str(item) for item in content]
    lines: list[str] = []
    for key, value in content.items():
        lines += [f"{key}:", *_indented(value)] if isinstance(value, Mapping) else [f"{key}: {value}"]
    return lines


@dataclass(frozen=True)
class TrainResult:
    """How a run ended. A failed run has no result: it raises a `TrainingError`."""

    steps: int
    """The last whole step, counted from 1 over all starts of the run."""
    exit_reason: ExitReason
    metrics: Mapping[str, float] = field(default_factory=dict)
    """The newest value of each metric that this start logged."""
    checkpoint: Path | None = None
    """The newest whole checkpoint."""

    @property
    def exit_status(self) -> int:
        """The status a process should end with: 130 after an interruption, otherwise 0."""
        return 130 if self.exit_reason == "interrupted" else 0


class Trainer(ABC):
    """Trains one checked configuration with one backend."""

    def __init__(self, loaded: Loaded) -> None:
        self.loaded = loaded

    @abstractmethod
    def check(self) -> Report:
        """The findings that only this backend can make: packages, devices, the content of data files."""

    @abstractmethod
    def plan(self) -> Plan:
        """Say what `fit` would do, without doing any of it."""

    @abstractmethod
    def fit(self) -> TrainResult:
        """Train, from the newest checkpoint where there is one.

        Raises:
            ConfigError: `check` has a finding of severity error.
            TrainingError: the job failed.
        """

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """Evaluate the newest checkpoint (or the untrained policy) on the held-out data: metric name -> value.

        Raises:
            ConfigError: `check` has a finding of severity error.
            TrainingError: the job failed.
        """
