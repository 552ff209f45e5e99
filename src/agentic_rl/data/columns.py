"""Which columns of published data hold the questions and the answers."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

QUESTIONS = ("prompt", "question", "problem", "query", "instruction", "input")
"""The usual names, the first that is there counts."""
ANSWERS = {
    "math": (
        "reward_model.ground_truth",
        "final_answer",
        "answer",
        "expected_answer",
        "ground_truth",
        "target",
        "solution",
        "output",
        "response",
    ),
    "search": (
        "reward_model.ground_truth",
        "golden_answers",
        "answers",
        "answer",
        "ground_truth",
        "target",
        "final_answer",
        "expected_answer",
    ),
}
"""The same for answers, of each kind of task; a dotted name is a field of a column."""


def value_at(values: Mapping[str, Any], name: str) -> Any:
    """The value of a column, or of a field below it (`reward_model.ground_truth`); None where it is not there."""
    if name in values:
        return values[name]
    value: Any = values
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def find_column(values: Mapping[str, Any], wanted: str | None, usual: Sequence[str]) -> str | None:
    """The column to read of a row: the one that was asked for, or the first usual one that is there."""
    if wanted is not None:
        return wanted if wanted in values or wanted.partition(".")[0] in values else None
    return next((name for name in usual if value_at(values, name) is not None), None)


def missing_column(columns: Iterable[str], wanted: str | None, usual: Sequence[str], option: str) -> tuple[str, str]:
    """Say that a column was not found, and what to write instead."""
    there = list(columns)
    listed = ", ".join(there[:20]) or "none"
    if wanted is None:
        what = "question" if option == "--question" else "answer"
        return f"has no column of {what}s ({', '.join(usual)}); it has: {listed}", f"name the column with {option}"
    near = difflib.get_close_matches(wanted, there, n=1)
    hint = f"{option} {near[0]}" if near else f"name one of them with {option}"
    return f"has no column {wanted!r}; it has: {listed}", hint
