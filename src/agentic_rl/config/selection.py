"""Which findings `check` shows, and how severe each is: what a person chose, by codes or their beginnings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from agentic_rl.config.diagnostics import Finding, Report, Severity

_CODE = re.compile(r"ARL\d{0,3}")


@dataclass(frozen=True)
class Choice:
    """Codes (`ARL211`) and beginnings of codes (`ARL2`) from one source."""

    select: tuple[str, ...] = ()
    """Show only these; empty for all."""
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, Severity] = field(default_factory=dict)
    """The longest beginning that fits a code decides."""

    def leaves_out(self, code: str) -> bool:
        """Whether findings of a code are not wanted."""
        return (bool(self.select) and not code.startswith(self.select)) or code.startswith(self.ignore or ("-",))

    def severity_of(self, finding: Finding) -> Severity:
        """The severity chosen for a finding, else its own."""
        fitting = max((one for one in self.severity if finding.code.startswith(one)), key=len, default=None)
        return self.severity[fitting] if fitting else finding.severity


@dataclass(frozen=True)
class Selection:
    """What the command line and the project's settings choose together.

    The command line may leave anything out: who types it sees it. Settings that stay in a file bring errors down to
    warnings and no further, for training refuses an error whatever `check` was told to show.
    """

    typed: Choice = field(default_factory=Choice)
    kept: Choice = field(default_factory=Choice)

    def apply(self, report: Report) -> Report:
        """The report without what is left out."""
        chosen = [self._chosen(one) for one in report.findings if not self.typed.leaves_out(one.code)]
        return Report([finding for finding in chosen if finding], report.sources)

    def _chosen(self, finding: Finding) -> Finding | None:
        severity = self.kept.severity_of(finding)
        left_out = self.kept.leaves_out(finding.code)
        if finding.severity == "error" and (left_out or severity == "note"):
            return replace(finding, severity="warning")
        return None if left_out else replace(finding, severity=severity)


def codes(texts: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    """Codes and beginnings of codes from `ARL211,ARL3` and the like.

    Raises:
        ValueError: one of them is none, or no rule has such a code; the message says which.
    """
    found = tuple(part.strip().upper() for text in texts for part in text.split(",") if part.strip())
    every = tuple(known)
    for one in found:
        if not _CODE.fullmatch(one):
            raise ValueError(f"{one!r} is no code; write ARL211, or the beginning of several, ARL2")
        if not any(code.startswith(one) for code in every):
            raise ValueError(f"no rule has a code that begins with {one}; `agentic-rl explain` lists all")
    return found
