"""The quickstart by the commands that a user types, as processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.config.secure_paths import check_path

pytestmark = pytest.mark.integration

OPERATIONS = ("add", "subtract", "multiply", "divide")
SHORT = ("local.sft_steps=3", "local.total_training_steps=2", "local.train_batch_size=8", "local.val_batch_size=64")


def agentic_rl(*arguments: str, folder: Path) -> str:
    """Run the command in `folder`; what it printed. It must succeed and warn of nothing."""
    command = [sys.executable, "-W", "error::UserWarning", "-m", "agentic_rl", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout + done.stderr
    return done.stdout + done.stderr


def evaluations(run: Path) -> dict[int, dict[str, Any]]:
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return {line["step"]: line for line in lines if line["phase"] == "evaluation"}


def test_a_shortened_run_leaves_everything_with_the_right_modes(tmp_path: Path) -> None:
    agentic_rl("init", "quickstart", "project", "--seed", "1", folder=tmp_path)
    printed = agentic_rl("--config-path", "project/config.yaml", *SHORT, folder=tmp_path)
    run = tmp_path / "checkpoints" / "quickstart" / "seed-1"
    assert str(run) in printed
    names = {entry.name for entry in run.iterdir()}
    assert {"metrics.jsonl", "trajectories.jsonl", "learning_curve.png", "global_step_2"} <= names
    assert check_path(str(run), "run", "folder").findings == []
    assert sorted(evaluations(run)) == [0, 2]
    assert all(f"eval/reward/calc/{name}" in evaluations(run)[0] for name in OPERATIONS)
    trajectories = (run / "trajectories.jsonl").read_text().splitlines()
    assert len(trajectories) == 2 * 8 * 8


@pytest.mark.timeout(900)
def test_the_quickstart_learns_every_operation(tmp_path: Path) -> None:
    """The promise of the project's README, for the seed that `init` writes unless it is told another."""
    agentic_rl("init", "quickstart", "project", folder=tmp_path)
    agentic_rl("--config-path", "project/config.yaml", folder=tmp_path)
    course = evaluations(tmp_path / "checkpoints" / "quickstart" / "seed-0")
    assert sorted(course) == [0, 10, 20, 30, 40, 50]
    assert course[0]["eval/reward"] <= 0.35
    assert course[50]["eval/reward"] >= 0.93
    assert all(course[50][f"eval/reward/calc/{name}"] >= 0.8 for name in OPERATIONS)
