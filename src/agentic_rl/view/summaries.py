"""What the lists need of a line of trajectories.jsonl, read without parsing the line as a whole."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_TEXT = rb'"((?:[^"\\]|\\.)*)"'
_HEAD = re.compile(
    rb'\{"schema": ?\d+, ?"step": ?(\d+), ?"idx": ?(\d+), ?"sample": ?(\d+), ?"data_source": ?'
    + _TEXT
    + rb', ?"reward": ?([^,"]+), ?(?:"advantage": ?([^,"]+), ?)?"finish_reason": ?'
    + _TEXT
    + rb', ?"error": ?"(.)'
)
"""The fields before the conversation in the order in which they are written: some microseconds instead of a
millisecond."""
_OPENING = re.compile(rb'"role": ?"user", ?"content": ?"((?:\\u[0-9a-fA-F]{4}|\\[^u]|[^"\\]){0,200})')
_SEARCHED = 1 << 16
"""Bytes of a line in which its first question is looked for."""


class Summary(NamedTuple):
    """The fields of a rollout by which it is listed."""

    step: int
    idx: int
    sample: int
    source: str
    reward: float | None
    advantage: float | None
    """None where the line has none: it is computed from the group's rewards."""
    finish_reason: str
    failed: bool


def summary_of(line: bytes) -> Summary | None:
    """The summary of a line; None where it is no rollout."""
    found = _HEAD.match(line)
    if found is None:
        return _parsed(line)
    step, idx, sample, source, reward, advantage, finish, error = found.groups()
    try:
        return Summary(
            int(step),
            int(idx),
            int(sample),
            _decoded(source),
            _number(reward),
            None if advantage is None else _number(advantage),
            _decoded(finish),
            error != b'"',
        )
    except ValueError:
        return None


def opening_of(line: bytes) -> str:
    """The beginning of the first thing that a user says in the line's conversation; empty where nothing is found."""
    found = _OPENING.search(line, 0, _SEARCHED)
    if found is None:
        return ""
    try:
        return " ".join(_decoded(found.group(1)).split())
    except ValueError:
        return ""


def _decoded(text: bytes) -> str:
    return str(json.loads(b'"' + text + b'"')) if b"\\" in text else text.decode()


def _number(text: bytes) -> float | None:
    return None if text == b"null" else float(text)


def _parsed(line: bytes) -> Summary | None:
    """The summary of a line whose fields stand in another order."""
    try:
        record = json.loads(line)
        return Summary(
            int(record["step"]),
            int(record["idx"]),
            int(record.get("sample", 0)),
            str(record.get("data_source", "")),
            _value(record.get("reward")),
            _value(record.get("advantage")),
            str(record.get("finish_reason", "")),
            bool(record.get("error")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError):
        return None


def _value(value: Any) -> float | None:
    return None if value is None else float(value)
