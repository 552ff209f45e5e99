from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from agentic_rl.cli.app import app

runner = CliRunner()


def test_backend_that_cannot_train_says_so(config: Path) -> None:
    shown = runner.invoke(app, ["plan", str(config)])
    assert shown.exit_code == 1
    assert "ARL501" in shown.output


def test_training_with_it_fails_the_same_way(config: Path) -> None:
    shown = runner.invoke(app, ["--config-path", str(config)])
    assert shown.exit_code == 1
    assert "ARL501" in shown.output
    assert "Traceback" not in shown.output
