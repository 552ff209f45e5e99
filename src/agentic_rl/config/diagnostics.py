"""Findings and reports: one shape for every problem of a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
Verdict = Literal["ok", "warning", "error"]


@dataclass(frozen=True)
class Place:
    """Where something stands in a text: file, line and column, both counted from 1."""

    file: str
    line: int
    column: int


@dataclass(frozen=True)
class Finding:
    """One problem: the value and the rule in `message`, the remedy in `hint`."""

    code: str
    """`ARL` and three digits; `agentic-rl explain CODE` prints the rule's page."""
    severity: Severity
    key: str
    """Dotted key, list items as `[0]`; empty when the finding is about the whole file."""
    message: str
    hint: str = ""
    file: str = ""
    line: int | None = None
    column: int | None = None


@dataclass
class Report:
    """All findings of one run, in the order of the file."""

    findings: list[Finding] = field(default_factory=list)

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add further findings."""
        self.findings.extend(findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def verdict(self) -> Verdict:
        """The worst severity reported: `error`, `warning`, or `ok` (notes do not count)."""
        severities = {finding.severity for finding in self.findings}
        return "error" if "error" in severities else "warning" if "warning" in severities else "ok"

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: `verdict` and `findings`, each finding with all its fields."""
        return {"verdict": self.verdict, "findings": [vars(finding) for finding in self.findings]}


class ConfigError(ValueError):
    """A configuration with at least one finding of severity error; `report` holds all of them."""

    def __init__(self, report: Report) -> None:
        super().__init__(report)
        self.report = report
