"""The example as its README runs it, shortened."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "own_agent"

pytestmark = pytest.mark.integration


def agentic_rl(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentic_rl", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=240)


def test_own_agent_trains_from_its_file(tmp_path: Path) -> None:
    project = tmp_path / "own_agent"
    assert agentic_rl("init", "quickstart", str(project), cwd=tmp_path).returncode == 0
    agent = Path(shutil.copy(EXAMPLE / "agent.py", project / "agent.py"))
    agent.chmod(0o640)
    done = agentic_rl(
        "--config-path",
        str(project / "config.yaml"),
        "agent_name=frugal",
        f"agent_engine_wrapper_path={agent}",
        "local.experiment_name=frugal",
        "local.sft_steps=20",
        "local.total_training_steps=2",
        "local.val_before_train=false",
        "local.val_batch_size=64",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    run = tmp_path / "checkpoints" / "quickstart" / "frugal"
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "reward/mean" in line] == [1, 2]
    assert (run / "global_step_2").is_dir()
    assert not list(project.rglob("__pycache__"))
