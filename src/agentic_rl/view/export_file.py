"""A run as one file that a browser shows without a server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentic_rl.config.writing import replace_file
from agentic_rl.view.answers import Answers
from agentic_rl.view.columns import Columns
from agentic_rl.view.listing import group_entry, names, progress_entry
from agentic_rl.view.messages import EXPORTED
from agentic_rl.view.page_file import page
from agentic_rl.view.run import Run

MAX_BYTES = 24 << 20
"""Of the lines whose rollouts go into the file, shared out evenly over the steps."""
_LARGEST = 200_000
"""Bytes that a line counts at most: of a longer one only a part is shown."""


def export(run: Run, file: Path, tokenizer: Path | None = None) -> tuple[int, int]:
    """Write the page of a run into `file`, with mode 640.

    Returns:
        How many groups it has, and how many the run has.

    Raises:
        ViewError: `tokenizer` has no readable vocabulary.
        OSError: the file can't be written, or the run's can't be read.
    """
    answers = Answers(run, tokenizer)
    answers.index.refresh()
    with answers.index.reading() as (columns, progress):
        chosen = chosen_groups(columns, MAX_BYTES)
        entries = [group_entry(columns, group) for group in chosen]
        rows = [row for group in chosen for row in columns.rows(group)]
        total = columns.groups
        listed = {"generation": 0, "total": total, "rollouts": len(columns), **names(columns)}
    data = {
        "run": answers.description(),
        "curves": answers.curves.read(),
        "listing": {**listed, "start": 0, "groups": entries, "progress": progress_entry(progress)},
        "rollouts": {row: _shown(answers, row) for row in rows},
    }
    with replace_file(file) as target:
        target.write(page(data, run.title).encode("utf-8", "replace"))
    return len(entries), total


def _shown(answers: Answers, row: int) -> dict[str, Any]:
    try:
        return answers.shown(row, EXPORTED)
    except ValueError as error:
        return {"row": row, "unreadable": str(error), "messages": [], "parts": []}


def chosen_groups(columns: Columns, budget: int) -> list[int]:
    """Whole groups of which the lines have at most about `budget` bytes: of each step as many as fit into its share.

    Where not even the first groups of all steps fit, steps in even distances are taken, the first and the last among
    them.
    """
    of_step: dict[int, list[int]] = {}
    for group in range(columns.groups):
        of_step.setdefault(columns.step[group], []).append(group)
    firsts = sum(_bytes(columns, groups[0]) for groups in of_step.values())
    steps = list(of_step)
    if firsts > budget:
        steps = _spread(steps, max(1, len(steps) * budget // firsts))
    chosen: list[int] = []
    for step in steps:
        chosen += _fitting(columns, of_step[step], budget // len(steps))
    return sorted(chosen)


def _fitting(columns: Columns, groups: Sequence[int], share: int) -> list[int]:
    """The first groups that fit into `share` bytes, at least one."""
    taken = [groups[0]]
    left = share - _bytes(columns, groups[0])
    for group in groups[1:]:
        left -= _bytes(columns, group)
        if left < 0:
            break
        taken.append(group)
    return taken


def _spread(steps: Sequence[int], count: int) -> list[int]:
    if count == 1:
        return [steps[-1]]
    return [steps[place * (len(steps) - 1) // (count - 1)] for place in range(count)]


def _bytes(columns: Columns, group: int) -> int:
    return sum(min(columns.length[row], _LARGEST) for row in columns.rows(group))
