from __future__ import annotations

import json
import re
import stat
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agentic_rl.cli.app import app

runner = CliRunner()


def test_good_file_exits_with_0(config: Path) -> None:
    shown = runner.invoke(app, ["check", str(config)])
    assert shown.exit_code == 0, shown.output
    assert "error" not in shown.output


def test_every_fault_is_reported_at_its_place(config: Path) -> None:
    text = config.read_text().replace("rollout_n: 4", "rolout_n: 4\nlr: -1").replace("size: 32", "size: none")
    config.write_text(text)
    shown = runner.invoke(app, ["check", str(config)])
    assert shown.exit_code == 1
    for place, key in (("4:1", "rolout_n"), ("5:1", "lr"), ("10:3", "verl.train_batch_size")):
        assert re.search(rf":{place} error ARL\d+ {key}: ", shown.output), shown.output


def test_json_form_has_verdict_findings_and_values(config: Path) -> None:
    shown = runner.invoke(app, ["check", str(config), "--format", "json", "lr=1e-5", "rollout_n=1"])
    report = json.loads(shown.stdout)
    assert report["verdict"] == "warning"
    assert report["config"]["lr"] == 1e-5
    assert report["config"]["verl"]["train_batch_size"] == 32
    (finding,) = report["findings"]
    assert set(finding) == {"code", "severity", "key", "message", "hint", "file", "line", "column"}
    assert (finding["key"], finding["file"]) == ("rollout_n", "command line")


def test_github_form_annotates_the_line(config: Path) -> None:
    config.write_text(config.read_text().replace("rollout_n: 4", "rollout_n: 65"))
    shown = runner.invoke(app, ["check", str(config), "--format", "github"])
    assert shown.exit_code == 1
    assert f"::error file={config},line=4,col=1,title=ARL" in shown.stdout


def test_permissions_are_fixed_on_request(config: Path) -> None:
    weights = config.parent / "model" / "config.json"
    weights.chmod(0o644)
    assert runner.invoke(app, ["check", str(config)]).exit_code == 1
    shown = runner.invoke(app, ["check", str(config), "--fix-permissions"])
    assert shown.exit_code == 0, shown.output
    assert str(weights) in shown.output
    assert stat.S_IMODE(weights.stat().st_mode) == 0o640


def test_files_are_left_out_on_request(config: Path) -> None:
    (config.parent / "rows.parquet").unlink()
    assert runner.invoke(app, ["check", str(config)]).exit_code == 1
    shown = runner.invoke(app, ["check", str(config), "--no-files"])
    assert shown.exit_code == 0
    assert "not looked at" in shown.output


def test_fixing_what_is_left_out_is_wrong_usage(config: Path) -> None:
    assert runner.invoke(app, ["check", str(config), "--no-files", "--fix-permissions"]).exit_code == 2


def test_environment_overrides_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_RL__VERL__TRAIN_BATCH_SIZE", "0")
    shown = runner.invoke(app, ["check", str(config)])
    assert shown.exit_code == 1
    assert "AGENTIC_RL__VERL__TRAIN_BATCH_SIZE" in shown.output
