from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sabotage
from runs import Run, assert_equal_runs

pytestmark = pytest.mark.integration

KILLED = -signal.SIGKILL


@pytest.mark.parametrize("moment", sabotage.KILLS, ids=lambda moment: moment.__name__)
def test_a_killed_run_equals_the_uninterrupted_one_when_started_again(
    moment: Callable[[], None], run: Run, train: Callable[..., int], uninterrupted: Run
) -> None:
    assert train(run, moment) == KILLED, run.output
    assert train(run) == 0, run.output
    assert_equal_runs(run, uninterrupted)


def test_a_run_that_is_killed_again_and_again_still_comes_to_the_same_end(
    run: Run, train: Callable[..., int], uninterrupted: Run
) -> None:
    for moment in (sabotage.in_warmup, sabotage.in_rollout, sabotage.in_update):
        assert train(run, moment) == KILLED, run.output
    assert train(run) == 0, run.output
    assert_equal_runs(run, uninterrupted)


@pytest.mark.soak
def test_fifty_kills_at_random_moments(
    run: Run, begin: Callable[..., Any], train: Callable[..., int], uninterrupted: Run
) -> None:
    draw = random.Random(0)
    kills = 0
    while kills < 50:
        process = begin(run)
        time.sleep(draw.uniform(0.2, 3.0))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join(60)
        kills += process.exitcode == KILLED
        if process.exitcode == 0:
            assert_equal_runs(run, uninterrupted)
            _start_over(run.folder)
    assert train(run) == 0, run.output
    assert_equal_runs(run, uninterrupted)


def _start_over(folder: Path) -> None:
    folder.rename(folder.with_name(f"done_{time.monotonic_ns()}"))


def test_a_torn_checkpoint_is_skipped_with_a_warning(run: Run, train: Callable[..., int], uninterrupted: Run) -> None:
    assert train(run) == 0, run.output
    (run.folder / "global_step_6" / "model.safetensors").write_bytes(b"torn")
    assert train(run) == 0
    assert "skipping the torn checkpoint" in run.output
    assert "model.safetensors has 4 bytes instead of" in run.output
    assert "going on from" in run.output
    assert "global_step_4" in run.output
    assert_equal_runs(run, uninterrupted)


def test_a_checkpoint_with_flipped_bits_is_torn(run: Run, train: Callable[..., int], uninterrupted: Run) -> None:
    assert train(run) == 0, run.output
    weights = run.folder / "global_step_6" / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert train(run) == 0
    assert "model.safetensors has another content than was written" in run.output
    assert_equal_runs(run, uninterrupted)


def test_a_finished_run_says_so_and_names_the_two_keys(run: Run, train: Callable[..., int]) -> None:
    assert train(run) == 0, run.output
    before = run.metrics()
    assert train(run) == 0
    assert "already finished" in run.output
    assert "project_name or experiment_name" in run.output
    assert run.metrics() == before
