"""The forms in which a report is printed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal

from agentic_rl.config.diagnostics import Report

Form = Literal["text", "json", "github", "sarif"]


def rendered(form: Form, report: Report, as_dict: Callable[[], dict[str, Any]], *, colour: bool = False) -> str:
    """The report in a form; `as_dict` gives what the JSON form says beside it (the values as read)."""
    if form == "json":
        return json.dumps(as_dict(), indent=2)
    if form == "sarif":
        from agentic_rl.config.reporting.sarif import log

        return json.dumps(log(report), indent=2)
    return report.to_github() if form == "github" else report.to_text(colour=colour)
