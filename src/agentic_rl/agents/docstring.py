"""Google-style docstrings: what a tool's docstring tells the model."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Yields?|Raises|Examples?|Notes?):\s*$")
_ARGUMENT = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)")


def describe(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Split a docstring into the text before its first section and the descriptions under `Args:`."""
    summary: list[str] = []
    arguments: list[str] = []
    section = ""
    for line in inspect.cleandoc(docstring or "").splitlines():
        heading = _SECTION.fullmatch(line)
        if heading:
            section = heading[1]
        elif not section:
            summary.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            arguments.append(line)
    return " ".join(" ".join(summary).split()), _descriptions(arguments)


def _descriptions(lines: list[str]) -> dict[str, str]:
    """Read the lines below `Args:`; lines indented deeper than the first one continue an argument."""
    descriptions: dict[str, str] = {}
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    name = ""
    for line in lines:
        start = _ARGUMENT.match(line, depth) if len(line) - len(line.lstrip()) == depth else None
        if start:
            name = start[1]
            descriptions[name] = start[2].strip()
        elif name and line.strip():
            descriptions[name] = f"{descriptions[name]} {line.strip()}".strip()
    return descriptions
