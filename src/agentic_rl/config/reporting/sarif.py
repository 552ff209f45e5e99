"""A report as SARIF 2.1.0 (OASIS), which code scanners and editors read."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from agentic_rl._version import __version__
from agentic_rl.config.diagnostics import NOT_FILES, Finding, Report
from agentic_rl.config.reporting.printable import one_line
from agentic_rl.config.rules import PAGES

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def log(report: Report) -> dict[str, Any]:
    """One run with every finding as a result, and the pages of the codes found as rules."""
    findings = report.ordered()
    codes = sorted({finding.code for finding in findings})
    driver = {
        "name": "agentic-rl",
        "semanticVersion": __version__,
        "rules": [_rule(code) for code in codes],
    }
    results = [_result(finding, codes.index(finding.code)) for finding in findings]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(code: str) -> dict[str, Any]:
    page = PAGES[code]
    text = page.text.strip()
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in "".join(c if c.isalnum() else " " for c in page.title).split()),
        "shortDescription": {"text": page.title},
        "fullDescription": {"text": text},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": page.severity},
    }


def _result(finding: Finding, index: int) -> dict[str, Any]:
    message = f"{finding.key}: {finding.message}" if finding.key else finding.message
    if finding.hint:
        message += f"\nfix: {finding.hint}"
    text = "\n".join(one_line(line) for line in message.split("\n"))
    location = _location(finding)
    result = {"ruleId": finding.code, "ruleIndex": index, "level": finding.severity, "message": {"text": text}}
    return {**result, "locations": [location]} if location else result


def _location(finding: Finding) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if finding.key:
        location["logicalLocations"] = [{"fullyQualifiedName": one_line(finding.key), "kind": "member"}]
    if finding.file not in NOT_FILES:
        place: dict[str, Any] = {"artifactLocation": {"uri": _uri(finding.file)}}
        if finding.line:
            place["region"] = {"startLine": finding.line} | ({"startColumn": finding.column} if finding.column else {})
        location["physicalLocation"] = place
    return location


def _uri(file: str) -> str:
    """A relative path stays relative, to the folder of the run; the scanner knows it as the repository."""
    path = quote(PurePosixPath(file).as_posix().encode("utf-8", "surrogateescape"))
    return f"file://{path}" if path.startswith("/") else path
