"""What a run's folder shows of its progress."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentic_rl.cluster.progress import Progress, look, stepped, stuck


def measure(run: Path, *steps: int, tail: str = "") -> None:
    run.mkdir(exist_ok=True)
    (run / "metrics.jsonl").write_text("".join(json.dumps({"step": step}) + "\n" for step in steps) + tail)


def test_a_folder_that_is_not_there_shows_nothing(tmp_path: Path) -> None:
    assert look(tmp_path / "none") == Progress()
    assert look(tmp_path / "none").reached == 0


def test_the_last_whole_line_and_the_newest_checkpoint_count(tmp_path: Path) -> None:
    measure(tmp_path, 1, 2, 3, tail='{"step": 4')
    for name in ("global_step_2", "global_step_10", "global_step_x", "iter_99"):
        (tmp_path / name).mkdir()
    seen = look(tmp_path)
    assert (seen.step, seen.checkpoint, seen.reached) == (3, 10, 10)


@pytest.mark.parametrize("text", ["", "\n", "nonsense\n", "[]\n", '{"step": null}\n', "\xff\n"])
def test_a_line_that_says_no_step_counts_as_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "metrics.jsonl").write_text(text, encoding="latin-1")
    assert look(tmp_path).step == 0


def test_a_step_beyond_the_checkpoint_is_one(tmp_path: Path) -> None:
    (tmp_path / "global_step_2").mkdir()
    measure(tmp_path, 1, 2, 3)
    before = look(tmp_path)
    assert not stepped(before, before), "a line that an earlier start left"
    measure(tmp_path, 1, 2)
    assert not stepped(before, look(tmp_path)), "cut back to the checkpoint, and no more"
    measure(tmp_path, 1, 2, 3, 4)
    assert stepped(before, look(tmp_path))


def test_a_newer_checkpoint_is_a_step(tmp_path: Path) -> None:
    before = look(tmp_path)
    (tmp_path / "global_step_0").mkdir()  # of the warm-up
    assert stepped(before, look(tmp_path))


def test_a_start_that_ends_where_the_last_one_did_is_stuck() -> None:
    assert stuck(Progress(checkpoint=2, step=5), Progress(checkpoint=2, step=5))
    assert not stuck(Progress(checkpoint=2, step=5), Progress(checkpoint=2, step=4))
    assert not stuck(Progress(checkpoint=2, step=5), Progress(checkpoint=4, step=5))
