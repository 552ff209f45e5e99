"""verl under the supervisor, killed at random: the same number of steps, and few of them made twice."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
import tiny_verl_project
from killing import kill_at_random, steps_of, strangers, supervised

from agentic_rl.cluster.status import read

pytestmark = [pytest.mark.verl, pytest.mark.integration, pytest.mark.timeout(2400)]


def prove(tmp_path: Path, kills: int, steps: int) -> None:
    config = tiny_verl_project.make(tmp_path / "files", total_training_steps=steps, save_freq=1)
    here = tmp_path / "here"
    run = here / "checkpoints" / "tiny" / "one"
    process = supervised(config, here, environ=tiny_verl_project.environment())
    try:
        made = kill_at_random(process, run, kills, random.Random(3), most_steps=2, limit=400.0 * (kills + 1))
        assert process.wait(600) == 0, (here / "supervisor.txt").read_text()
    finally:
        process.kill()
    assert len(made) == kills
    assert max(kill.lost for kill in made) <= 1, made
    assert steps_of(run) == list(range(1, steps + 1))
    assert strangers(run) == []
    told = read(run / "nodes" / "supervisor-0.json")
    assert told is not None
    assert (told.state, told.attempt, told.step) == ("finished", kills, steps)


def test_one_kill(tmp_path: Path) -> None:
    prove(tmp_path, 1, 3)


@pytest.mark.soak
def test_three_kills(tmp_path: Path) -> None:
    prove(tmp_path, 3, 6)
