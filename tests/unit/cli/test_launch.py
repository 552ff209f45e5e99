"""`agentic-rl launch`, without doing anything."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentic_rl.cli.app import app
from cluster_doubles import APART, make_set


def launched(configs: Path, *options: str) -> tuple[int, str]:
    files = ["--hosts", str(configs / "hosts.conf"), "--base", str(configs / "base.conf")]
    shown = CliRunner().invoke(app, ["launch", *files, *options])
    return shown.exit_code, shown.output


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_dry_run_says_what_every_node_would_do(tmp_path: Path) -> None:
    status, text = launched(make_set(tmp_path / "set", APART, "one_step_off"), "--dry-run")
    assert status == 0
    assert "node 0 (192.0.2.10): inference node, one of 2" in text
    assert "node 1 (192.0.2.11): training master, one of 2" in text
    assert "waits for the job of node 1 (192.0.2.11), and ends with it" in text
    assert not (tmp_path / "checkpoints").exists()


def test_a_dry_run_of_one_node(tmp_path: Path) -> None:
    configs = make_set(tmp_path / "set", APART, "one_step_off")
    states = tmp_path / "shared"
    status, text = launched(configs, "--dry-run", "--node", "1", "--ray-port", "7001", "--states", str(states))
    assert status == 0
    assert "node 0" not in text
    assert "ports that have to be free: 7001" in text
    assert f"status: {states}/node-1.json" in text
    assert not states.exists()


def test_a_machine_that_is_not_listed_is_refused(tmp_path: Path) -> None:
    status, text = launched(make_set(tmp_path / "set", APART, "one_step_off"))
    assert status == 1
    assert "is this machine: it has none of 192.0.2.10, 192.0.2.11" in text


def test_files_with_errors_start_nothing(tmp_path: Path) -> None:
    status, text = launched(make_set(tmp_path / "set", "192.0.2.10,0,0\n"), "--dry-run")
    assert status == 1
    assert "ARL605" in text


def test_files_that_are_not_there_are_a_finding(tmp_path: Path) -> None:
    status, text = launched(tmp_path / "nowhere")
    assert status == 1
    assert "hosts.conf" in text
    assert "Traceback" not in text
