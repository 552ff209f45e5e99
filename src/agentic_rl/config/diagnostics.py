"""Findings and reports: one shape for every problem, as text, as JSON and as GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from agentic_rl.config.reporting.colour import paint, plain
from agentic_rl.config.reporting.excerpt import excerpt
from agentic_rl.config.reporting.printable import one_line

Severity = Literal["error", "warning", "note"]
Verdict = Literal["ok", "warning", "error"]

COMMAND_LINE = "command line"
"""`file` of what an override on the command line set."""
ENVIRONMENT = "environment"
"""`file` of what a variable of the environment set."""
STANDARD_INPUT = "<stdin>"
"""`file` of what was read from standard input."""

_SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
NOT_FILES = ("", COMMAND_LINE, ENVIRONMENT, STANDARD_INPUT)
"""What `file` holds where there is no file to point into."""
_ANNOTATIONS = {"error": "error", "warning": "warning", "note": "notice"}


@dataclass(frozen=True)
class Place:
    """Where something stands in a text: file, line and column, both counted from 1.

    Line and column are None where there is no text: on the command line, in the environment, in a mapping.
    """

    file: str
    line: int | None = None
    column: int | None = None


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

    def to_text(self, lines: Sequence[str] = (), *, colour: bool = False) -> str:
        """The text form: one line for the problem, its source line where `lines` are given, the remedy.

        `lines` are those of the finding's file.
        """
        style = paint if colour else plain
        key = f"{self.key}: " if self.key else ""
        kind = style(f"{self.severity} {self.code}", self.severity)
        where = one_line(self.where())
        shown = [f"{where} {kind} {one_line(key + self.message)}".lstrip().rstrip(" ")]
        shown += excerpt(lines, (self.line, self.column), self.key, self.severity, style)
        for number, line in enumerate(self.hint.split("\n") if self.hint else ()):
            shown.append("    " + ("     " if number else style("fix:", "fix") + " ") + one_line(line))
        return "\n".join(shown)

    def where(self) -> str:
        """`file:line:column`, as far as it is known."""
        parts = [self.file, self.line, self.column] if self.file else []
        return ":".join(str(part) for part in parts if part is not None)

    def annotation(self) -> str:
        """The workflow command that shows the finding beside its line in a GitHub change."""
        properties = {"title": self.code}
        if self.file not in NOT_FILES:
            place = {"file": self.file, "line": self.line, "col": self.column}
            properties = {name: str(value) for name, value in place.items() if value is not None} | properties
        message = f"{self.key}: {self.message}" if self.key else self.message
        if self.file in (COMMAND_LINE, ENVIRONMENT):
            message = f"{self.file}: {message}"
        if self.hint:
            message += f"\nfix: {self.hint}"
        listed = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
        return f"::{_ANNOTATIONS[self.severity]} {listed}::{_data(message)}"


@dataclass
class Report:
    """All findings of one run."""

    findings: list[Finding] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict, repr=False, compare=False)
    """File -> its lines, which the text form shows; a file may be missing here."""

    def extend(self, findings: Iterable[Finding]) -> None:
        """Add further findings."""
        self.findings.extend(findings)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.ordered())

    def __len__(self) -> int:
        return len(self.findings)

    @property
    def verdict(self) -> Verdict:
        """The worst severity reported: `error`, `warning`, or `ok` (notes do not count)."""
        severities = {finding.severity for finding in self.findings}
        return "error" if "error" in severities else "warning" if "warning" in severities else "ok"

    def ordered(self) -> list[Finding]:
        """The findings by place: files first, each from top to bottom; the command line and the environment last."""
        return sorted(self.findings, key=_by_place)

    def summary(self) -> str:
        """How many of each severity: `2 errors, 1 warning, 1 note`."""
        counts = {name: sum(finding.severity == name for finding in self.findings) for name in _SEVERITIES}
        told = [f"{count} {name}{'s' if count > 1 else ''}" for name, count in counts.items() if count]
        return ", ".join(told) or "no findings"

    def to_text(self, *, colour: bool = False) -> str:
        """The text form: every finding in the order of the file with its source line, then the summary."""
        told = [one.to_text(self.sources.get(one.file, ()), colour=colour) for one in self.ordered()]
        return "\n".join([*told, self.summary()])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from agentic_rl.config.reporting.html import table

        return table(self)

    def to_github(self) -> str:
        """The findings as GitHub workflow commands, one a line; empty when there are none."""
        return "\n".join(finding.annotation() for finding in self.ordered())

    def to_dict(self) -> dict[str, Any]:
        """The JSON form: `verdict` and `findings`, each finding with all its fields."""
        return {"verdict": self.verdict, "findings": [asdict(finding) for finding in self.ordered()]}


class ConfigError(ValueError):
    """A configuration with at least one finding of severity error; `report` holds all of them."""

    def __init__(self, report: Report) -> None:
        super().__init__(report)  # args carry the report, so that the exception survives pickling
        self.report = report

    def __str__(self) -> str:
        return self.report.to_text()


def _by_place(finding: Finding) -> tuple[bool, str, int, int]:
    overridden = finding.file in (COMMAND_LINE, ENVIRONMENT)
    return overridden, finding.file, finding.line or 0, finding.column or 0


def _data(text: str) -> str:
    shown = "\n".join(one_line(line) for line in text.split("\n"))
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
