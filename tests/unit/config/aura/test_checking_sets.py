"""`agentic-rl check` of a set: its folder, or any one of its files."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from agentic_rl.config.batch import Batch, Check
from agentic_rl.config.selection import Choice
from agentic_rl.projects import create

MEMBERS = {"hosts.conf", "base.conf", "verl_hybrid.yaml"}


def run(*paths: Path | str, **how: object) -> Batch:
    return Check(files=False, **how).run([str(path) for path in paths])  # type: ignore[arg-type]


def names(batch: Batch) -> list[str]:
    return [Path(one.file).name for one in batch.files]


def told(batch: Batch) -> set[tuple[str, str, int | None]]:
    """File, code and line of what is more than a note."""
    return {(Path(one.file).name, one.code, one.line) for one in batch.report if one.severity != "note"}


@pytest.fixture
def configs(tmp_path: Path) -> Path:
    """A set in hybrid mode, beside a training and an inference YAML that it does not name."""
    create("instances", tmp_path / "project")
    return tmp_path / "project" / "configs"


@pytest.mark.parametrize("name", ["", "hosts.conf", "base.conf", "train/verl_hybrid.yaml"])
def test_any_file_of_a_set_stands_for_all(configs: Path, name: str) -> None:
    batch = run(configs / name)
    assert set(names(batch)) == MEMBERS
    assert told(batch) == set()
    assert batch.report.verdict == "ok"


def test_relations_are_told_whichever_file_was_named(configs: Path) -> None:
    train = configs / "train" / "verl_hybrid.yaml"
    train.write_text(train.read_text().replace("nnodes: 1 ", "nnodes: 2 "))
    line = train.read_text()[: train.read_text().index("nnodes")].count("\n") + 1
    for named in (configs, configs / "hosts.conf", train):
        assert told(run(named)) == {("verl_hybrid.yaml", "ARL634", line)}
    assert run(configs).report.verdict == "error"


def test_a_set_is_checked_once(configs: Path) -> None:
    assert len(run(configs, configs / "hosts.conf", configs / "train" / "verl_hybrid.yaml").files) == 3


def test_a_training_yaml_that_no_set_names_is_checked_by_itself(configs: Path) -> None:
    batch = run(configs / "train" / "verl_one_step_off.yaml")
    assert names(batch) == ["verl_one_step_off.yaml"]
    assert batch.one


def test_a_folder_above_has_its_sets_and_leaves_what_they_do_not_name(configs: Path) -> None:
    batch = run(configs.parent)
    assert set(names(batch)) == MEMBERS
    skipped = {Path(one.file).name for one in batch.about_run if one.code == "ARL017"}
    assert skipped == {"verl_one_step_off.yaml", "vllm.yaml"}


def test_an_inference_yaml_is_checked_by_itself(configs: Path) -> None:
    path = configs / "infer" / "vllm.yaml"
    path.write_text(path.read_text() + "pd_mode: 1\n")
    batch = run(path)
    assert batch.one
    assert batch.files[0].config["tensor_parallel_size"] == 1
    assert told(batch) == {("vllm.yaml", "ARL620", 1)}


def test_an_inference_yaml_in_a_folder_without_a_set_is_found(tmp_path: Path) -> None:
    (tmp_path / "infer.yaml").write_text("infer_model_name: a\n")
    assert told(run(tmp_path)) == {("infer.yaml", "ARL619", 1)}


def test_standard_input_may_be_an_inference_yaml(monkeypatch: pytest.MonkeyPatch) -> None:
    text = io.TextIOWrapper(io.BytesIO(b"infer_model_name: a\ninfer_model_path: /m\nmax_model_len: 0\n"))
    monkeypatch.setattr("sys.stdin", text)
    assert told(run("-")) == {("<stdin>", "ARL101", 3)}


def test_the_json_form_has_the_values_of_the_training_yaml_and_every_file(configs: Path) -> None:
    told_json = json.loads(run(configs).render("json"))
    assert told_json["verdict"] == "ok"
    assert told_json["config"]["verl_conf"]["trainer"]["nnodes"] == 1
    assert {Path(one["file"]).name for one in told_json["files"]} == MEMBERS


def test_overrides_are_for_the_training_yaml(configs: Path) -> None:
    batch = run(configs, overrides=["verl_conf.trainer.nnodes=2"])
    (finding,) = [one for one in batch.report if one.severity == "error"]
    assert (finding.code, finding.file, finding.line) == ("ARL634", "command line", None)


def test_codes_are_chosen_in_sets_too(configs: Path) -> None:
    (configs / "hosts.conf").write_text("127.0.0.1,0,1\n")
    assert told(run(configs)) == {("hosts.conf", "ARL632", 1)}
    assert told(run(configs, typed=Choice(ignore=("ARL632",)))) == set()


def test_the_text_shows_the_line_of_a_conf_file(configs: Path) -> None:
    (configs / "hosts.conf").write_text("192.0.2.10,0,2\n")
    text = run(configs / "hosts.conf").render()
    assert "hosts.conf:1:14 error ARL604 train_master_index: '2' is neither 0 nor 1\n    1 | 192.0.2.10,0,2" in text
