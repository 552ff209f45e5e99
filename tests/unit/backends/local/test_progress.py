from __future__ import annotations

from pathlib import Path

from agentic_rl.backends.local.data import Position
from agentic_rl.backends.local.progress import Progress, changed_settings


def test_progress_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    progress = Progress(7, Position(2, 64), evaluated=5, lengths={"metrics.jsonl": 99}, settings={"lr": 1e-6})
    progress.write(tmp_path)
    assert Progress.read(tmp_path) == progress


def test_changes_are_named_by_their_dotted_keys() -> None:
    before = {"lr": 1e-6, "local": {"threads": 1, "test_freq": -1}, "gone": 1}
    now = {"lr": 2e-6, "local": {"threads": 1, "test_freq": 5}, "new": [1]}
    assert changed_settings(before, now) == [
        "lr: 1e-06 -> 2e-06",
        "local.test_freq: -1 -> 5",
        "new: None -> [1]",
        "gone: 1 -> None",
    ]
    assert changed_settings(now, now) == []
