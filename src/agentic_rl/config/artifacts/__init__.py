"""What the files of a configuration say, read cheaply and without torch: facts for rules, and findings of their own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.secure_paths import CheckedPath


@dataclass
class Artifacts:
    """What was read."""

    facts: dict[str, Any] = field(default_factory=dict)
    """Values by keys such as `@model.num_attention_heads`, `@train.rows`; what could not be read is left out."""
    findings: list[Finding] = field(default_factory=list)
    """Findings without a place; `key` is the configuration's key that names the file."""


def read(values: Mapping[str, Any], checked: Mapping[str, CheckedPath], environ: Mapping[str, str]) -> Artifacts:
    """Read the files of the chosen backend that passed the path policy, and what the environment says."""
    del values, checked, environ
    return Artifacts()
