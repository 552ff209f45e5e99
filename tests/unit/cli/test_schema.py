from __future__ import annotations

import json
from pathlib import Path

import jsonschema
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
