"""What a training job has measured so far."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

_TAIL = 1 << 17
"""Bytes of the file's end that are read: far more than the lines of a few steps."""
METRICS = "metrics.jsonl"


def latest(folder: Path, since: float) -> dict[str, Any]:
    """The newest step and the newest value of each metric; empty where nothing was measured since then.

    Args:
        folder: of the run.
        since: seconds since 1970; an older file is an earlier run's.
    """
    path = folder / METRICS
    try:
        if path.stat().st_mtime < since:
            return {}
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            lines = file.read().split(b"\n")[size > _TAIL :]
    except OSError:
        return {}
    step: float = 0
    values: dict[str, float] = {}
    for line in lines:
        record = _record(line)
        step = max(step, record.pop("step", 0))
        values.update(record)
    return {"step": step, "values": values} if values else {}


def _record(line: bytes) -> dict[str, float]:
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return {}  # the last line may be half written
    if not isinstance(read, dict):
        return {}
    return {name: value for name, value in read.items() if type(value) in (int, float) and math.isfinite(value)}
