from __future__ import annotations

import json
from pathlib import Path

from agentic_rl.tracking import JsonLinesTracker, LineFile


def test_each_measurement_is_one_line_that_can_be_read_at_once(tmp_path: Path) -> None:
    file = LineFile(tmp_path / "metrics.jsonl")
    tracker = JsonLinesTracker(file)
    tracker.begin("training", 2, 0)
    tracker.log("training", 1, {"reward/mean": 0.5, "policy/loss": float("nan")})
    tracker.note("nothing for this file")
    written = json.loads((tmp_path / "metrics.jsonl").read_text())
    assert written == {"phase": "training", "step": 1, "reward/mean": 0.5, "policy/loss": None}
    tracker.close()
    file.close()
