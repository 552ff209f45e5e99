"""The measurements of a run as curves."""

from __future__ import annotations

import json
import math
import threading
from pathlib import Path
from typing import Any

MAX_POINTS = 2_000
"""Of one curve; of a longer one every n-th point is shown, and the last."""

Curve = dict[float, float]
"""Value by step: a step that is measured again replaces what was there."""


class Curves:
    """Follows metrics.jsonl."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._position = 0
        self._inode = 0
        self._curves: dict[tuple[str, str], Curve] = {}

    def read(self) -> dict[str, Any]:
        """All curves in the order of their first values, and `revision`: equal ones mean equal curves."""
        with self._lock:
            self._refresh()
            return {
                "revision": f"{self._inode}-{self._position}",
                "curves": [_entry(phase, name, curve) for (phase, name), curve in self._curves.items()],
            }

    def _refresh(self) -> None:
        try:
            with self._path.open("rb") as file:
                status = self._path.stat()
                if status.st_size < self._position or status.st_ino != self._inode:
                    self._position, self._inode, self._curves = 0, status.st_ino, {}
                file.seek(self._position)
                whole, newline, _ = file.read().rpartition(b"\n")
        except OSError:
            self._position, self._curves = 0, {}
            return
        self._position += len(whole) + len(newline)
        for line in whole.split(b"\n"):
            self._add(line)

    def _add(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            step, phase = float(record["step"]), str(record.get("phase", ""))
        except (ValueError, TypeError, KeyError, RecursionError):
            return
        for name, value in record.items():
            if name not in {"step", "phase"} and type(value) in (int, float) and math.isfinite(value):
                self._curves.setdefault((phase, name), {})[step] = value


def _entry(phase: str, name: str, curve: Curve) -> dict[str, Any]:
    points = sorted(curve.items())
    stride = -(-len(points) // MAX_POINTS)
    shown = points[::stride]
    if shown[-1] != points[-1]:
        shown.append(points[-1])
    return {
        "phase": phase,
        "name": name,
        "steps": [step for step, _ in shown],
        "values": [float(f"{value:.6g}") for _, value in shown],
    }
