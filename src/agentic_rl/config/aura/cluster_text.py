"""The text of hosts.conf and base.conf, line by line. Bad text gives findings, never an exception."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.rules import Page
from agentic_rl.config.source.text import LINE_BREAK, UnreadableError, decode, read_bytes

COMMENT = re.compile(r"\s+#.*\Z")
"""A comment behind a value, with the space before it."""


class Line(NamedTuple):
    """A line that says something."""

    number: int
    """From 1."""
    text: str
    """With the space at its beginning, without that at its end."""


@dataclass
class ClusterText:
    """A file as far as it could be read, and what was found in it."""

    file: str
    lines: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    readable: bool = True

    def said(self) -> Iterator[Line]:
        """The lines that are neither blank nor a comment."""
        for number, text in enumerate(self.lines, 1):
            if text.strip() and not text.lstrip().startswith("#"):
                yield Line(number, text.rstrip())

    def add(self, page: Page, key: str, message: str, hint: str = "", *, at: tuple[int, int] = (1, 1)) -> None:
        """Report something; `at` is its line and column in this file."""
        self.findings.append(Finding(page.code, page.severity, key, message, hint, self.file, *at))


def read_text(path: str | os.PathLike[str]) -> ClusterText:
    """Read a file; whatever stands in its way is a finding."""
    file = os.fspath(path)
    try:
        return text_of(read_bytes(file), file)
    except UnreadableError as error:
        return _unread(file, error)


def text_of(content: str | bytes, file: str) -> ClusterText:
    """The text in `content`; `file` is the name that findings give as its place."""
    try:
        return ClusterText(file, LINE_BREAK.split(decode(content)))
    except UnreadableError as error:
        return _unread(file, error)


def _unread(file: str, error: UnreadableError) -> ClusterText:
    message, hint = (text.replace(" YAML ", " ") for text in (error.message, error.hint))
    finding = Finding(error.code, "error", "", message, hint, file, error.line, error.column)
    return ClusterText(file, findings=[finding], readable=False)
