from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.tracking.tensorboard import TensorBoardTracker

pytest.importorskip("tensorboard")


def scalars(folder: Path, tag: str) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(folder))
    read.Reload()
    return [(event.step, event.value) for event in read.Scalars(tag)]


def test_metrics_arrive_under_their_step(tmp_path: Path) -> None:
    tracker = TensorBoardTracker(tmp_path, 0)
    for step in (1, 2):
        tracker.log("training", step, {"reward/mean": 0.5 * step})
    tracker.close()
    assert scalars(tmp_path, "reward/mean") == [(1, 0.5), (2, 1.0)]


def test_a_run_that_goes_on_hides_the_steps_after_its_checkpoint(tmp_path: Path) -> None:
    first = TensorBoardTracker(tmp_path, 0)
    for step in (1, 2, 3):
        first.log("training", step, {"reward/mean": 0.25})
    first.close()
    second = TensorBoardTracker(tmp_path, 2)
    second.log("training", 3, {"reward/mean": 0.75})
    second.close()
    assert scalars(tmp_path, "reward/mean") == [(1, 0.25), (2, 0.25), (3, 0.75)]
