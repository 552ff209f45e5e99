from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from typer.testing import CliRunner

from agentic_rl.cli.app import app


def test_printed_schema_judges_a_file(config: Path) -> None:
    printed = json.loads(CliRunner().invoke(app, ["schema", "flat"]).stdout)
    validator = jsonschema.validators.validator_for(printed)(printed)
    validator.check_schema(printed)
    values = yaml.safe_load(config.read_text())
    assert list(validator.iter_errors(values)) == []
    wrong = {**values, "rollout_n": 65, "train_backend": "local2"}
    assert {error.json_path for error in validator.iter_errors(wrong)} == {"$.rollout_n", "$.train_backend"}


def test_written_schema_is_the_printed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["schema", "flat", "--write"])
    assert shown.stdout == "# yaml-language-server: $schema=./flat.schema.json\n"
    written = tmp_path / "flat.schema.json"
    assert written.read_text() == CliRunner().invoke(app, ["schema", "flat"]).stdout
    assert [path.name for path in tmp_path.iterdir()] == ["flat.schema.json"]


def test_a_place_that_can_not_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "flat.schema.json").mkdir()
    monkeypatch.chdir(tmp_path)
    shown = CliRunner().invoke(app, ["schema", "flat", "--write"])
    assert shown.exit_code == 1
    assert shown.stderr.startswith("error flat.schema.json can't be written: ")


def test_the_schema_of_trajectories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    printed = CliRunner().invoke(app, ["schema", "trajectories"]).stdout
    assert json.loads(printed)["title"] == "A line of trajectories.jsonl"
    shown = CliRunner().invoke(app, ["schema", "trajectories", "--write"])
    assert shown.stdout == "wrote trajectories.schema.json\n"
    assert (tmp_path / "trajectories.schema.json").read_text() == printed
