"""The examples of the agents `gym` and `search_r1` as their READMEs run them, shortened."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
FEW_STEPS = (
    "local.sft_steps=40",
    "local.total_training_steps=2",
    "local.train_batch_size=8",
    "local.ppo_mini_batch_size=8",
    "local.val_before_train=false",
    "local.val_batch_size=16",
    "local.test_freq=-1",
)

pytestmark = pytest.mark.integration


def run(*arguments: str, cwd: Path, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def project(name: str, folder: Path) -> Path:
    folder.chmod(0o750)
    config = Path(run(str(EXAMPLES / name / "make_project.py"), str(folder / name), cwd=folder).strip())
    files = sorted(str(path) for path in (config.parent / "data").glob("*.parquet"))
    model = str(config.parent / "model")
    checked = run("-m", "agentic_rl", "data", "check", *files, "--tokenizer", model, cwd=folder)
    assert checked.startswith("no findings")
    return config


def test_gym(tmp_path: Path) -> None:
    config = project("gym", tmp_path)
    assert run("-m", "agentic_rl", "check", str(config), cwd=tmp_path).strip() == "no findings"
    run("-m", "agentic_rl", "--config-path", str(config), *FEW_STEPS, cwd=tmp_path)
    lines = (tmp_path / "checkpoints/examples/gym/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines if "reward/mean" in json.loads(line)] == [1, 2]


def test_search(tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    config = project("search", tmp_path)
    assert run("-m", "agentic_rl", "check", str(config), cwd=tmp_path).strip() == "no findings"
    run("-m", "agentic_rl", "--config-path", str(config), *FEW_STEPS, cwd=tmp_path)
    lines = (tmp_path / "checkpoints/examples/search/metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines if "reward/mean" in json.loads(line)] == [1, 2]
