"""Real training under the supervisor, killed at random: every step is made, and few are made twice."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import pytest
import tiny_project
from killing import kill_at_random, steps_of, strangers, supervised

from agentic_rl.cluster.status import read

pytestmark = pytest.mark.integration

SAVE_FREQ = 3


def project(tmp_path: Path, steps: int) -> tuple[Path, Path]:
    """Configuration, and the folder of the run."""
    section = {"total_training_steps": steps, "save_freq": SAVE_FREQ, "test_freq": -1, "train_batch_size": 2}
    config = tiny_project.make_project(tmp_path / "files", section)
    return config, tmp_path / "here" / "checkpoints" / "tiny" / "first"


def prove(tmp_path: Path, kills: int, steps: int) -> None:
    config, run = project(tmp_path, steps)
    process = supervised(config, tmp_path / "here")
    try:
        limit = 60.0 + 30.0 * kills
        made = kill_at_random(process, run, kills, random.Random(7), most_steps=2 * SAVE_FREQ, limit=limit)
        assert process.wait(120 + limit) == 0, (tmp_path / "here" / "supervisor.txt").read_text()
    finally:
        process.kill()
    assert len(made) == kills
    assert max(kill.lost for kill in made) <= SAVE_FREQ, made
    assert steps_of(run) == list(range(1, steps + 1))
    assert strangers(run) == []
    told = read(run / "nodes" / "supervisor-0.json")
    assert told is not None
    assert (told.state, told.attempt, told.step) == ("finished", kills, steps)


def test_five_kills(tmp_path: Path) -> None:
    prove(tmp_path, 5, 60)


@pytest.mark.soak
def test_twenty_kills(tmp_path: Path) -> None:
    prove(tmp_path, 20, 200)


def test_ctrl_c_reaches_the_run_which_saves_and_the_same_command_goes_on(tmp_path: Path) -> None:
    config, run = project(tmp_path, 40)
    process = supervised(config, tmp_path / "here")
    try:
        end = time.monotonic() + 90
        while not (run / "global_step_3").is_dir():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
    text = (tmp_path / "here" / "supervisor.txt").read_text()
    assert "interrupted after step" in text
    assert "starting again" not in text
    assert supervised(config, tmp_path / "here", "--clean-old-ckpt", "1").wait(120) == 0
    text = (tmp_path / "here" / "supervisor.txt").read_text()
    assert "not emptied" in text
    assert "going on from" in text
    assert steps_of(run) == list(range(1, 41))


def test_a_run_ends_with_its_supervisor_and_saves(tmp_path: Path) -> None:
    config, run = project(tmp_path, 2000)
    process = supervised(config, tmp_path / "here")
    end = time.monotonic() + 90
    while not (run / "global_step_3").is_dir():
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.05)
    process.kill()
    process.wait()
    job = int((run / ".lock").read_text())
    while Path(f"/proc/{job}").exists():
        assert time.monotonic() < end
        time.sleep(0.1)
    assert "interrupted after step" in (run / "nodes" / "supervised-0.log").read_text()


def test_old_checkpoints_go_before_the_first_start(tmp_path: Path) -> None:
    config, run = project(tmp_path, 6)
    (run / "global_step_90").mkdir(parents=True)
    (run / "latest_checkpointed_iteration.txt").write_text("90")
    process = supervised(config, tmp_path / "here", "--clean-old-ckpt", "1", "--max-retries", "0")
    assert process.wait(120) == 0
    assert "emptied" in (tmp_path / "here" / "supervisor.txt").read_text()
    assert steps_of(run) == list(range(1, 7))


def test_a_stranger_in_the_folder_stops_the_start(tmp_path: Path) -> None:
    config, run = project(tmp_path, 6)
    run.mkdir(parents=True)
    (run / "thesis.tex").write_text("years of work")
    process = supervised(config, tmp_path / "here", "--clean-old-ckpt", "1")
    assert process.wait(60) == 1
    assert "thesis.tex; nothing was removed" in (tmp_path / "here" / "supervisor.txt").read_text()
    assert (run / "thesis.tex").read_text() == "years of work"


def test_a_configuration_with_errors_is_never_started(tmp_path: Path) -> None:
    config, run = project(tmp_path, 6)
    process = supervised(config, tmp_path / "here", "lr=-1")
    assert process.wait(60) == 1
    assert "lr: -1" in (tmp_path / "here" / "supervisor.txt").read_text()
    assert not run.exists()
