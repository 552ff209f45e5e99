"""The shape of one look at the machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

Status = Literal["ok", "warning", "error", "unknown"]
"""`unknown`: the check can't be made here; `value` says why."""


@dataclass(frozen=True)
class Observation:
    """What was found, what it should be, and what to do where it is not."""

    name: str
    status: Status
    value: str
    rule: str = ""
    remedy: str = ""

    def to_dict(self) -> dict[str, str]:
        """The JSON form: every field by its name."""
        return asdict(self)

    def to_text(self) -> str:
        """The form for people: one line, with the rule where it is not kept, and one for the remedy."""
        rule = f"; should be: {self.rule}" if self.rule and self.status != "ok" else ""
        line = f"{self.status:<8} {self.name}: {self.value}{rule}"
        return f"{line}\n    fix: {self.remedy}" if self.remedy else line
