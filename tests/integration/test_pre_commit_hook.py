"""The hook as pre-commit itself runs it: installed into an environment of its own, from here and the package index."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GOOD = """\
tokenizer_name_or_path: /home/me/models/qwen
agent_name: math
train_backend: verl
entropy_coeff: 0.001
verl:
  train_files: /home/me/data/train.parquet
  val_files: /home/me/data/test.parquet
"""
FILES = {
    "good.yaml": GOOD,
    "bad.yaml": GOOD.replace("entropy_coeff", "entropy_coef"),
    "compose.yml": "services:\n  web: {image: nginx}\n",
}

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(importlib.util.find_spec("pre_commit") is None, reason="needs pre-commit"),
    pytest.mark.skipif(not (ROOT / ".git").exists(), reason="pre-commit installs from a repository"),
]


def test_the_hook_refuses_the_bad_file_and_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    subprocess.run(["git", "add", "."], cwd=folder, check=True)
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "agentic-rl-check", "--files", *FILES]
    environ = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "home")}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert [line for line in done.stdout.splitlines() if " error " in line] == [
        "bad.yaml:4:1 error ARL020 entropy_coef: there is no key 'entropy_coef' at the top level"
    ]
    assert "compose.yml note ARL017 skipped" in done.stdout
