from __future__ import annotations

import io
import itertools

from agentic_rl.tracking.console import BarTracker, LineTracker, console_tracker, summary

STEP = {"reward/mean": 0.5, "response_length/mean": 12.34, "rollout/tokens_per_second": 12345.6}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_pipe_gets_plain_lines_with_the_time_that_is_left() -> None:
    stream = io.StringIO()
    tracker = LineTracker(stream, clock=itertools.count(0, 30).__next__)
    tracker.begin("training", 4, 1)
    tracker.log("training", 2, STEP)
    tracker.log("training", 3, STEP)
    assert stream.getvalue().splitlines() == [
        "training 2/4  reward 0.500  length 12.3  12,346 tokens/s  left 1:00",
        "training 3/4  reward 0.500  length 12.3  12,346 tokens/s  left 0:30",
    ]


def test_hours_are_told() -> None:
    stream = io.StringIO()
    tracker = LineTracker(stream, clock=itertools.count(0, 3661).__next__)
    tracker.begin("training", 2, 0)
    tracker.log("training", 1, STEP)
    assert stream.getvalue().endswith("left 1:01:01\n")


def test_a_warm_up_of_many_steps_prints_ten_lines() -> None:
    stream = io.StringIO()
    tracker = LineTracker(stream)
    tracker.begin("warm-up", 200, 0)
    for step in range(1, 201):
        tracker.log("warm-up", step, {"sft/loss": 1.0})
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("warm-up 200/200  loss 1.000")


def test_an_evaluation_names_its_sources_where_there_are_several() -> None:
    one = {"eval/reward": 0.25, "eval/reward/a": 0.25}
    assert summary("evaluation", one) == "held-out reward 0.250"
    assert summary("evaluation", {**one, "eval/reward/b": 1.0}) == "held-out reward 0.250  (a 0.250, b 1.000)"


def test_failed_rollouts_are_told() -> None:
    assert summary("training", {**STEP, "reward/failed_fraction": 0.25}).endswith("failed 25.0%")


def test_a_terminal_gets_a_bar_with_the_measurements_and_evaluations_above_it() -> None:
    stream = Terminal()
    tracker = console_tracker(stream)
    assert isinstance(tracker, BarTracker)
    tracker.begin("training", 2, 0)
    tracker.log("training", 1, STEP)
    tracker.log("evaluation", 1, {"eval/reward": 0.75})
    tracker.log("training", 2, STEP)
    tracker.note("[finished] as it stands")
    tracker.close()
    shown = stream.getvalue()
    assert "2/2" in shown
    assert "reward 0.500" in shown
    assert "evaluation at step 1  held-out reward 0.750" in shown
    assert "[finished] as it stands" in shown


def test_no_terminal_gets_no_bar() -> None:
    assert isinstance(console_tracker(io.StringIO()), LineTracker)
