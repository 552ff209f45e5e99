from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from agentic_rl.cli.app import app

runner = CliRunner()


def test_exit_status_is_that_of_diff(config: Path) -> None:
    other, broken = config.with_name("other.yaml"), config.with_name("broken.yaml")
    other.write_text(config.read_text().replace("rollout_n: 4", "rollout_n: 8"))
    broken.write_text("- a\n")
    assert runner.invoke(app, ["diff", str(config), str(config)]).exit_code == 0
    shown = runner.invoke(app, ["diff", str(config), str(other)])
    assert shown.exit_code == 1
    assert "rollout_n\n  - 4 (line 4)\n  + 8 (line 4)\n1 key differs\n" in shown.output
    unread = runner.invoke(app, ["diff", str(config), str(broken)])
    assert unread.exit_code == 2
    assert "ARL006" in unread.stderr
    assert unread.stdout == ""


def test_json_form_is_one_object(config: Path) -> None:
    shown = runner.invoke(app, ["diff", str(config), str(config), "--json"])
    assert json.loads(shown.stdout)["equal"] is True
