"""The project of the example: its file is sound, and its agent can be trained. verl itself runs in integration-verl."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from verl_doubles import HAS_VERL

SCRIPT = Path(__file__).parents[3] / "examples" / "verl" / "make_project.py"

pytestmark = pytest.mark.integration


def run(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False, timeout=240)


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o750)
    made = run(str(SCRIPT), str(home / "verl"), cwd=home)
    assert made.returncode == 0, made.stderr
    return Path(made.stdout.strip())


def test_the_file_has_no_findings(config: Path) -> None:
    shown = run("-m", "agentic_rl", "check", str(config), cwd=config.parent)
    assert (shown.returncode, shown.stdout.strip()) == (0, "no findings")


def test_the_reward_rises(config: Path, tmp_path: Path) -> None:
    """Trained by the local backend, which takes the same keys, in seconds."""
    tree = yaml.safe_load(config.read_text())
    tree |= {"train_backend": "local", "local": {**tree.pop("verl"), "total_training_steps": 6}}
    other = config.with_name("local.yaml")
    other.write_text(yaml.safe_dump(tree))
    other.chmod(0o640)
    done = run("-m", "agentic_rl", "--config-path", str(other), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "checkpoints/example/digits/metrics.jsonl").read_text().splitlines()
    rewards = [yaml.safe_load(line)["reward/mean"] for line in lines]
    assert sum(rewards[-2:]) > sum(rewards[:2])


@pytest.mark.skipif(not HAS_VERL, reason="verl is not installed")
def test_it_can_be_rendered(config: Path) -> None:
    shown = run("-m", "agentic_rl", "render", "--config-path", str(config), cwd=config.parent)
    assert shown.returncode == 0, shown.stderr
    assert yaml.safe_load(shown.stdout)["trainer"]["device"] == "cpu"
