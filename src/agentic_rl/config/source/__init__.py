"""YAML text with the place (file, line, column) of every key. Bad text gives findings, never an exception."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import yaml

from agentic_rl.config.diagnostics import Finding, Place
from agentic_rl.config.source import pages  # noqa: F401 - registers the pages of the codes below
from agentic_rl.config.source.nodes import DOCUMENTS, Node, Remark, TooMuchError, compose
from agentic_rl.config.source.scalars import resolve
from agentic_rl.config.source.syntax import explain, mistyped_pair
from agentic_rl.config.source.text import LIMIT, LINE_BREAK, Opener, UnreadableError, decode, read_bytes, too_large
from agentic_rl.config.source.values import Evaluation

NOT_A_MAPPING = "ARL006"


@dataclass
class Document:
    """What a text says, key by key."""

    file: str
    tree: dict[str, Any] = field(default_factory=dict)
    """Plain values: dict, list, str, int, float, bool and None."""
    places: dict[str, Place] = field(default_factory=dict)
    """The place of every key, by dotted key; of list items as `a.b[0]`."""
    findings: list[Finding] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    flawed: frozenset[str] = frozenset()
    """Keys whose value has a finding here, so that its type and range say nothing more."""
    whole: bool = True
    """False when the text could not be read to its end; then `tree` is empty and nothing can be said about keys."""


class ValueTextError(ValueError):
    """A value given on the command line or in the environment can't be read; `hint` is the remedy."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.message, self.hint = message, hint


def read(path: str | os.PathLike[str], opener: Opener | None = None) -> Document:
    """Read a file of at most 1 MiB. Whatever stands in its way is a finding.

    `opener` opens it in the caller's way (a path that was checked before); it raises OSError where it can't.
    """
    file = os.fspath(path)
    try:
        content = read_bytes(file, opener)
    except UnreadableError as error:
        return _unread(file, error)
    return parse(content, file)


def parse(text: str | bytes, file: str) -> Document:
    """Read a text; `file` is the name that findings give as its place."""
    try:
        if len(text) > LIMIT:
            raise too_large(len(text))
        readable = decode(text)
    except UnreadableError as error:
        return _unread(file, error)
    lines = LINE_BREAK.split(readable)
    try:
        root, remarks = compose(readable)
        return _document(file, lines, root, remarks)
    except TooMuchError as error:
        remark = error.remark
    except (yaml.YAMLError, ValueError) as error:  # ValueError: the pure-Python loader on impossible escapes
        remark = explain(error, lines)
    return Document(file, findings=[_finding(file, remark)], lines=lines, whole=False)


def scalar(text: str) -> Any:
    """Read one value as it would be read from a file: a plain or quoted scalar, or a list in brackets.

    Plain text is taken to its end, whatever it holds (`run #1`, `a: b`, `*.parquet`): a shell's argument is no line.

    Raises:
        ValueTextError: not one value, or one that can be read in two ways.
    """
    text = text.strip()
    if text[:1] not in ("[", "{", "'", '"'):
        reading = resolve(text)
        if reading.doubt:
            raise ValueTextError(reading.doubt, reading.remedy)
        return reading.value
    if text.startswith("{"):
        raise ValueTextError(f"{text} is a section; one override sets one value", "set its keys one by one")
    document = parse(f"value: {text}", "")
    if document.findings:
        first = document.findings[0]
        raise ValueTextError(f"{text} can't be read: {first.message}", first.hint)
    return document.tree["value"]


def _document(file: str, lines: list[str], root: Node | None, remarks: list[Remark]) -> Document:
    if root is None or root.kind != "mapping":
        remarks = [remark for remark in remarks if remark.code != DOCUMENTS]
        findings = [_finding(file, remark) for remark in remarks] + [_no_mapping(file, root, lines)]
        return Document(file, findings=findings, lines=lines, whole=False)
    evaluation = Evaluation()
    tree = evaluation.value(root)
    findings = [_finding(file, remark) for remark in [*remarks, *evaluation.remarks]]
    places = {key: Place(file, *position) for key, position in evaluation.places.items()}
    return Document(file, tree, places, findings, lines, frozenset(evaluation.flawed))


def _no_mapping(file: str, root: Node | None, lines: list[str]) -> Finding:
    rule = "a configuration is a list of keys with values"
    if root is None or (root.kind == "scalar" and root.plain and resolve(root.text).value is None):
        what = "no keys in it" if any(line.strip() for line in lines) else "empty"
        return Finding(NOT_A_MAPPING, "error", "", f"{what}; {rule}", "write key: value, one a line", file, 1, 1)
    cause = mistyped_pair(lines[root.position.line - 1]) if root.kind == "scalar" else None
    shown = f"the text {root.text[:40]!r}" if root.kind == "scalar" else "a list"
    message = f"{shown} at the top; {rule}"
    hint = "write key: value, one a line, without - before it"
    if cause is not None:
        message, hint = f"{message} ({cause.message})", cause.hint
    return Finding(NOT_A_MAPPING, "error", "", message, hint, file, *root.position)


def _finding(file: str, remark: Remark) -> Finding:
    return Finding(remark.code, "error", remark.key, remark.message, remark.hint, file, *remark.position)


def _unread(file: str, error: UnreadableError) -> Document:
    finding = Finding(error.code, "error", "", error.message, error.hint, file, error.line, error.column)
    return Document(file, findings=[finding], whole=False)
