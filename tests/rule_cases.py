"""What the tests of rules that read files or the machine share."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentic_rl.config.diagnostics import Finding


class Bad(NamedTuple):
    """A configuration, what was read elsewhere, and the one finding."""

    backend: str
    changes: dict[str, Any]
    facts: dict[str, Any]
    head: str
    """Severity, code and key."""
    message: str
    hint: str

    def expect(self, found: list[Finding]) -> None:
        """Fail unless `found` is this one finding, word by word."""
        (finding,) = found
        assert f"{finding.severity} {finding.code} {finding.key}" == self.head
        assert (finding.message, finding.hint) == (self.message, self.hint)
