"""What a reader of artifacts is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.secure_paths import CheckedPath


@dataclass(frozen=True)
class Request:
    """What every reader is given."""

    values: Mapping[str, Any]
    """Dotted key -> value of everything that did validate, defaults included."""
    checked: Mapping[str, CheckedPath]
    """Dotted key -> the file or folder that passed the path policy."""
    environ: Mapping[str, str]
    facts: Mapping[str, Any]
    """What the readers before this one found."""

    @property
    def backend(self) -> str:
        """The chosen backend; empty where it did not validate."""
        return str(self.values.get("train_backend", ""))

    def of_backend(self, name: str) -> str:
        """The dotted key of `name` in the section of the chosen backend."""
        return f"{self.backend}.{name}"


@dataclass
class Artifacts:
    """What was read."""

    facts: dict[str, Any] = field(default_factory=dict)
    """Values by keys such as `@model.num_attention_heads`, `@train.rows`; what could not be read is left out."""
    findings: list[Finding] = field(default_factory=list)
    """Findings without a place; `key` is the configuration's key that names the file."""


Reader = Callable[[Request], Artifacts]
