"""The list of groups, in the compact form that the page keeps of all of them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from agentic_rl.view.advantages import advantages_of
from agentic_rl.view.columns import Columns
from agentic_rl.view.index import Index, Progress

PAGE = 2_000
"""Groups of one answer."""
DIGITS = 5


def listing(index: Index, start: int) -> dict[str, Any]:
    """Groups from `start` on, and how far the file is read. More rollouts may join the last group."""
    with index.reading() as (columns, progress):
        groups = range(max(start, 0), min(max(start, 0) + PAGE, columns.groups))
        return {
            "generation": progress.generation,
            "total": columns.groups,
            "rollouts": len(columns),
            "groups": [group_entry(columns, group) for group in groups],
            "start": groups.start,
            **names(columns),
            "progress": progress_entry(progress),
        }


def group_entry(columns: Columns, group: int) -> dict[str, Any]:
    """One group: `rewards`, `advantages` and so on have one entry a rollout; `row` is the number of the first."""
    rows = columns.rows(group)
    rewards = [_known(columns.reward[row]) for row in rows]
    failed = [bool(columns.failed[row]) for row in rows]
    stored = [_known(columns.advantage[row]) for row in rows]
    computed = any(advantage is None for advantage in stored)
    return {
        "row": rows.start,
        "step": columns.step[group],
        "idx": columns.idx[group],
        "source": columns.source[group],
        "opening": columns.opening[group],
        "samples": [columns.sample[row] for row in rows],
        "rewards": _rounded(rewards),
        "advantages": _rounded(advantages_of(rewards, failed) if computed else stored),
        "computed": computed,
        "finishes": [columns.finish[row] for row in rows],
        "failed": [int(broke) for broke in failed],
    }


def names(columns: Columns) -> dict[str, list[str]]:
    """What the numbers of sources and reasons mean."""
    return {"sources": list(columns.sources.texts), "finishes": list(columns.finishes.texts)}


def progress_entry(progress: Progress) -> dict[str, Any]:
    """How far the file is read."""
    return {
        "done": progress.done,
        "size": progress.size,
        "unreadable": progress.unreadable,
        "torn": progress.torn,
    }


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _rounded(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None else round(value, DIGITS) for value in values]
