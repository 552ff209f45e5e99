"""A report as an HTML table, for notebooks. Everything a file holds is escaped."""

from __future__ import annotations

from html import escape

from agentic_rl.config.diagnostics import Finding, Report
from agentic_rl.config.reporting.printable import one_line

_COLOURS = {"error": "#c62828", "warning": "#b26a00", "note": "#00695c"}
_HEAD = "<tr><th></th><th>code</th><th>place</th><th>key</th><th>what is wrong</th><th>what to do</th></tr>"
_LEFT = ' style="text-align:left"'


def table(report: Report) -> str:
    """The findings, one a row, and the summary; no scripts and no style sheet."""
    rows = "".join(map(_row, report.ordered()))
    body = f"<table><thead>{_HEAD}</thead><tbody>{rows}</tbody></table>" if rows else ""
    return f"<div>{body}<p>{escape(report.summary())}</p></div>"


def _row(finding: Finding) -> str:
    severity = f'<td style="color:{_COLOURS[finding.severity]}"><b>{finding.severity}</b></td>'
    texts = (finding.code, finding.where(), finding.key, finding.message, finding.hint)
    cells = (f"<td{_LEFT}>{'<br>'.join(escape(one_line(line)) for line in text.split(chr(10)))}</td>" for text in texts)
    return f"<tr>{severity}{''.join(cells)}</tr>"
