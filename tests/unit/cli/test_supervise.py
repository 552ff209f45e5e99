"""`agentic-rl supervise`: what it refuses before anything is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentic_rl.cli.app import app
from cluster_doubles import make_set


def supervised(*options: str) -> tuple[int, str]:
    shown = CliRunner().invoke(app, ["supervise", *options])
    return shown.exit_code, shown.output


@pytest.mark.parametrize("options", [(), ("--hosts", "a"), ("--config-path", "a", "--base", "b")])
def test_either_a_file_or_a_set(options: tuple[str, ...]) -> None:
    status, text = supervised(*options)
    assert status == 2
    assert "--config-path FILE, or --hosts FILE and --base FILE" in " ".join(text.split())


def test_a_file_with_errors_is_never_started(config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    status, text = supervised("--config-path", str(config), "lr=-1")
    assert status == 1
    assert "lr: -1" in text
    assert not (tmp_path / "checkpoints").exists()


def test_a_set_whose_start_script_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    configs = make_set(tmp_path / "set", monitor_cmd="start_my_verl.sh")
    status, text = supervised("--hosts", str(configs / "hosts.conf"), "--base", str(configs / "base.conf"))
    assert status == 1
    assert "there is no start_my_verl.sh" in text


def test_a_start_script_is_run_until_it_gives_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    configs = make_set(tmp_path / "set", monitor_cmd="start_my_verl.sh")
    script = tmp_path / "set" / "scripts" / "start_my_verl.sh"
    script.write_text('echo "error: $AGENTIC_RL_CONFIGS $*"; exit 1\n')
    files = ("--hosts", str(configs / "hosts.conf"), "--base", str(configs / "base.conf"))
    status, text = supervised(*files, "--first-wait", "0.01", "verl_conf.trainer.save_freq=5")
    assert status == 3
    assert f"error: {configs} verl_conf.trainer.save_freq=5" in text
    assert "2 starts in a row made no step" in text
