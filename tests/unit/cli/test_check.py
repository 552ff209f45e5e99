from __future__ import annotations

import importlib.util
import json
import re
import shlex
import stat
from pathlib import Path

import pytest
import yaml
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
    (finding,) = [one for one in report["findings"] if one["key"] == "rollout_n"]
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


@pytest.mark.skipif(importlib.util.find_spec("verl") is not None, reason="it would find nothing")
def test_the_backend_is_asked_on_request(config: Path) -> None:
    asked = ["check", str(config), "train_backend=verl"]
    assert "ARL510" not in runner.invoke(app, asked).output
    shown = runner.invoke(app, [*asked, "--backend"])
    assert shown.exit_code == 1
    assert "error ARL510 train_backend: verl is not installed" in shown.output


def test_a_backend_is_not_asked_about_files_that_are_left_out(config: Path) -> None:
    assert runner.invoke(app, ["check", str(config), "--backend", "--no-files"]).exit_code == 2
    assert runner.invoke(app, ["check", "-", "--backend"], input="lr: 1").exit_code == 2


def test_environment_overrides_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTIC_RL__VERL__TRAIN_BATCH_SIZE", "0")
    shown = runner.invoke(app, ["check", str(config)])
    assert shown.exit_code == 1
    assert "AGENTIC_RL__VERL__TRAIN_BATCH_SIZE" in shown.output


def test_source_line_and_carets_are_shown_without_colour_in_a_pipe(config: Path) -> None:
    config.write_text(config.read_text().replace("rollout_n: 4", "rollout_n: 65"))
    shown = runner.invoke(app, ["check", str(config)]).output
    assert "    4 | rollout_n: 65\n      | ^^^^^^^^^\n" in shown
    assert "\x1b" not in shown


def test_colour_can_be_forced(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config.write_text(config.read_text().replace("rollout_n: 4", "rollout_n: 65"))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;31merror ARL101\x1b[0m" in runner.invoke(app, ["check", str(config)]).output


def test_sarif_form_is_one_document(config: Path) -> None:
    config.write_text(config.read_text().replace("rollout_n: 4", "rollout_n: 65"))
    shown = runner.invoke(app, ["check", str(config), "--format", "sarif"])
    assert shown.exit_code == 1
    (run,) = json.loads(shown.stdout)["runs"]
    assert "ARL101" in [result["ruleId"] for result in run["results"]]


def test_several_files_and_an_override_are_told_apart(config: Path) -> None:
    other = config.with_name("lr=1.yaml")
    other.write_text(config.read_text())
    other.chmod(0o640)
    shown = runner.invoke(app, ["check", str(config), str(other), "lr=1e-5", "--format", "json"])
    assert [file["config"]["lr"] for file in json.loads(shown.stdout)["files"]] == [1e-5, 1e-5]
    assert json.loads(shown.stdout)["files"][1]["file"] == str(other)


def test_a_folder_is_checked(config: Path) -> None:
    shown = runner.invoke(app, ["check", str(config.parent)])
    assert shown.output.splitlines()[-1].endswith(" in 1 file")


def test_standard_input_is_checked_without_files(config: Path) -> None:
    shown = runner.invoke(app, ["check", "-"], input=config.read_text())
    assert shown.exit_code == 0
    assert "<stdin> note ARL015 not looked at: " in shown.output


def test_permissions_behind_standard_input_are_not_changed() -> None:
    assert runner.invoke(app, ["check", "-", "--fix-permissions"], input="").exit_code == 2


def test_codes_are_selected_and_ignored(config: Path) -> None:
    config.write_text(config.read_text().replace("rollout_n: 4", "rollout_n: 65\nlr: -1\nseeed: 1"))
    shown = runner.invoke(app, ["check", str(config), "--select", "ARL1,ARL02", "--ignore", "arl020"])
    assert re.findall(r"error (ARL\d+)", shown.output) == ["ARL101", "ARL101"]


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_codes_that_no_rule_has_are_wrong_usage(config: Path, option: str) -> None:
    assert runner.invoke(app, ["check", str(config), option, "ARL9"]).exit_code == 2


def test_the_hook_checks_configurations_and_skips_the_rest(config: Path) -> None:
    other = config.with_name("other.yaml")
    other.write_text("repos: []\n")
    (hook,) = yaml.safe_load((Path(__file__).parents[3] / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["types"]) == ("agentic-rl-check", ["yaml"])
    program, *arguments = [*shlex.split(hook["entry"]), *hook["args"]]
    assert program == "agentic-rl"
    assert runner.invoke(app, [*arguments, str(config), str(other)]).exit_code == 0
    config.write_text(config.read_text().replace("rollout_n: 4", "rollout_n: 65"))
    assert runner.invoke(app, [*arguments, str(config), str(other)]).exit_code == 1


@pytest.mark.parametrize(
    ("overrides", "variables", "said"),
    [
        (["max_prompt_length=9000"], {}, "max_prompt_length 9000 (from the command line)"),
        ([], {"AGENTIC_RL__MAX_PROMPT_LENGTH": "9000"}, "max_prompt_length 9000 (from the environment)"),
        (
            ["max_prompt_length=9000"],
            {"AGENTIC_RL__VERL__MAX_RESPONSE_LENGTH": "9001"},
            "max_prompt_length 9000 (from the command line) + max_response_length 9001 (from the environment)",
        ),
    ],
)
def test_a_relation_says_where_the_other_values_came_from(
    overrides: list[str], variables: dict[str, str], said: str, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(f"max_model_len: 4096\n{config.read_text()}")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    shown = runner.invoke(app, ["check", str(config), *overrides])
    (line,) = [line for line in shown.output.splitlines() if "ARL240" in line]
    assert f":1:1 error ARL240 max_model_len: 4096 tokens, but {said}" in line


def test_of_its_own_value_a_relation_says_it_by_the_place(config: Path) -> None:
    shown = runner.invoke(app, ["check", str(config), "max_model_len=100"])
    (line,) = [line for line in shown.output.splitlines() if "ARL240" in line]
    assert "command line error ARL240 max_model_len: 100 tokens, but" in line.removeprefix("command line: ")
    assert "from the command line" not in line
