"""From a file to a configuration and a report of everything that is wrong, in one run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from agentic_rl import ConfigError, check, load_config
from agentic_rl.config.load import Loaded, load
from agentic_rl.config.secure_paths import fix_permissions
from artifact_doubles import task_rows, write_model, write_rows


class Project:
    """A small flat configuration whose files exist with the right modes."""

    def __init__(self, folder: Path) -> None:
        self.config = folder / "config.yaml"
        self.model = folder / "model"
        self.data = folder / "rows.parquet"
        write_model(self.model)
        write_rows(self.data, task_rows(16))
        fix_permissions([str(self.model), str(self.data)])

    def _put(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        path.chmod(0o640)

    @property
    def shared(self) -> str:
        return (
            f"tokenizer_name_or_path: {self.model}\nagent_name: math\ntrain_backend: local\n"
            "entropy_coeff: 0.0\ntemperature: 1.0\n"
        )

    @property
    def section(self) -> str:
        return f"local:\n  train_files: {self.data}\n  val_files: {self.data}\n  ppo_mini_batch_size: 8\n"

    def load(self, shared: str = "", section: str = "", overrides: tuple[str, ...] = (), **environ: str) -> Loaded:
        """Load the configuration with further lines in it."""
        self._put(self.config, self.shared + shared + self.section + section)
        return load(self.config, overrides, environ=environ)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def told(loaded: Loaded, severity: str = "error") -> list[tuple[str, str, int | None, int | None]]:
    return [
        (finding.code, finding.key, finding.line, finding.column)
        for finding in loaded.report
        if finding.severity == severity
    ]


def test_a_right_configuration(project: Project) -> None:
    loaded = project.load("lr: 1e-6\n")
    assert told(loaded) == []
    config = loaded.require()
    assert config.lr == 1e-6
    assert config.local is not None
    assert config.local.train_files == str(project.data)
    assert loaded.format == "flat"
    assert loaded.values["lr"] == 1e-6
    assert loaded.values["local.total_epochs"] == 2  # a default
    assert loaded.sources["lr"] == "file"
    assert "local.total_epochs" not in loaded.sources
    assert loaded.checked["tokenizer_name_or_path"].path == str(project.model)


def test_findings_of_every_room_come_in_one_run(project: Project) -> None:
    project.data.chmod(0o644)
    loaded = project.load("lr: -1\nlr: -2\nnonsense: 1\nmax_steps: 010\n", "  use_kl_loss: 'no'\n")
    assert told(loaded) == [
        ("ARL005", "lr", 7, 1),
        ("ARL101", "lr", 7, 1),
        ("ARL020", "nonsense", 8, 1),
        ("ARL010", "max_steps", 9, 12),
        ("ARL306", "local.train_files", 11, 3),
        ("ARL032", "local.use_kl_loss", 14, 3),
    ]
    assert loaded.config is None
    with pytest.raises(ConfigError, match="ARL005"):
        loaded.require()


def test_a_value_is_judged_once(project: Project) -> None:
    """A number that can be read in two ways is not reported for its type as well."""
    assert told(project.load("max_steps: 1e999\n")) == [("ARL010", "max_steps", 6, 12)]


def test_the_effective_configuration_is_nested_and_complete(project: Project) -> None:
    loaded = project.load("enforce_eager: no\n")
    config = loaded.to_dict()["config"]
    assert config["enforce_eager"] is False
    assert config["rollout_n"] == 2
    assert config["local"]["ppo_mini_batch_size"] == 8
    assert config["local"]["total_training_steps"] is None
    assert json.loads(loaded.render("json")) == loaded.to_dict()


def test_the_effective_configuration_of_a_broken_file_has_what_did_validate(project: Project) -> None:
    config = project.load("lr: x\nrollout_n: 4\n", "  total_epochs: 0\n").to_dict()["config"]
    assert config["rollout_n"] == 4
    assert "lr" not in config
    assert "total_epochs" not in config["local"]
    assert config["local"]["project_name"] == "default-agent"


def test_every_form_of_a_report(project: Project) -> None:
    loaded = project.load("lr: -1\n")
    path = project.config
    assert loaded.render("text").splitlines()[0].startswith(f"{path}:6:1 error ARL101 lr: ")
    assert loaded.render("text").splitlines()[-1].startswith("1 error")
    assert f"::error file={path},line=6,col=1,title=ARL101::lr: " in loaded.render("github")


# The file itself


def test_the_file_may_be_relative_and_is_named_as_given(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.load()
    monkeypatch.chdir(project.config.parent)
    loaded = load("config.yaml", environ={})
    assert told(loaded) == []
    assert {finding.file for finding in loaded.report} <= {"config.yaml"}


def test_the_file_itself_has_mode_640(project: Project) -> None:
    project.load()
    project.config.chmod(0o644)
    loaded = load(project.config, environ={})
    assert told(loaded) == [("ARL306", "", None, None)]
    assert loaded.report.ordered()[0].file == str(project.config)


def test_the_file_itself_is_no_link(project: Project, tmp_path: Path) -> None:
    project.load()
    link = tmp_path / "link.yaml"
    link.symlink_to(project.config)
    assert told(load(link, environ={})) == [("ARL303", "", None, None)]


def test_the_files_mode_is_reported_with_its_syntax_errors(project: Project) -> None:
    project.config.write_text("a: [\n")
    project.config.chmod(0o600)
    assert [code for code, *_ in told(load(project.config))] == ["ARL306", "ARL004"]


@pytest.mark.parametrize("path", ["missing.yaml", "", "a\0b", "\ud800", "/dev/null", "/", "x" * 2000])
def test_what_is_no_file_is_one_finding(path: str) -> None:
    loaded = load(path, environ={})
    assert [code for code, *_ in told(loaded)] == ["ARL001"]
    assert loaded.config is None
    json.dumps(loaded.to_dict())
    assert len(loaded.report) == 1


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o640)
    assert [code for code, *_ in told(load(tmp_path / "pipe"))] == ["ARL001"]


def test_a_current_folder_that_was_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert [code for code, *_ in told(load("config.yaml", environ={}))] == ["ARL001"]
    monkeypatch.chdir(tmp_path)


def test_a_file_swapped_after_its_check_is_not_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from agentic_rl.config import secure_paths

    project.load()
    checked = secure_paths.check_path

    def swap_afterwards(value: str, key: str, kind: Any) -> Any:
        result = checked(value, key, kind)
        if value == str(project.config):
            other = project.config.with_suffix(".new")
            other.write_text("lr: 1\n")
            other.chmod(0o640)
            other.rename(project.config)
        return result

    monkeypatch.setattr(secure_paths, "check_path", swap_afterwards)
    loaded = load(project.config, environ={})
    assert [code for code, *_ in told(loaded)] == ["ARL001"]
    assert "changed after it was checked" in loaded.report.findings[0].message
    assert loaded.document.tree == {}


# Formats


def test_a_format_that_is_not_read_yet_gets_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("defaults: []\ncluster: {}\nrunner: {}\nalgorithm: {}\n")
    path.chmod(0o644)  # the rule about modes is the flat format's
    (finding,) = load(path, ("lr=1",), environ={}).report
    assert (finding.code, finding.key) == ("ARL014", "cluster")
    assert finding.line is not None
    assert "a key of RLinf's format, which this version does not read yet" in finding.message


# Keys with dots


def test_a_key_with_a_dot_is_explained(project: Project) -> None:
    loaded = project.load("local.lr: 1\nlocal.kl_loss_coef: 1\n")
    assert told(loaded) == [("ARL016", "local.lr", 6, 1), ("ARL016", "local.kl_loss_coef", 7, 1)]
    assert loaded.report.ordered()[0].hint == "write `local:` and below it, indented, `lr: ...`"


# Overrides


def test_overrides_and_their_sources(project: Project) -> None:
    loaded = project.load(
        "lr: 1.0\n", overrides=("lr=1e-5", "local.train_batch_size=16"), AGENTIC_RL__LR="2", AGENTIC_RL__SEED="7"
    )
    assert told(loaded) == []
    config = loaded.require()
    assert (config.lr, config.seed) == (1e-5, 7)
    assert config.local is not None
    assert config.local.train_batch_size == 16
    assert loaded.sources["lr"] == "command line"
    assert loaded.sources["seed"] == "environment"
    assert loaded.sources["local.train_files"] == "file"


def test_a_finding_says_what_set_the_value(project: Project) -> None:
    loaded = project.load(
        "lr: 1.0\n", overrides=("lr=-1",), AGENTIC_RL__LOCAL__TOTAL_EPOCHS="0", AGENTIC_RL__NONSENSE="1"
    )
    lines = [line for line in loaded.render().splitlines() if " error " in line]
    assert lines[0].startswith("command line error ARL101 lr: -1")
    assert lines[1].startswith("environment error ARL")
    assert {line.rpartition("(set by ")[2] for line in lines[1:]} == {
        "AGENTIC_RL__LOCAL__TOTAL_EPOCHS)",
        "AGENTIC_RL__NONSENSE)",
    }
    assert told(loaded)[0] == ("ARL101", "lr", None, None)


def test_an_override_mends_a_value_of_the_file(project: Project) -> None:
    assert told(project.load("lr: -1\n", overrides=("lr=1e-6",))) == []


def test_an_override_wins_over_an_alias_in_the_file(project: Project) -> None:
    loaded = project.load(section="  use_kl_loss: true\n  kl_loss_coef: 0.5\n", overrides=("local.kl_loss_coeff=0.1",))
    assert told(loaded) == []
    assert loaded.values["local.kl_loss_coeff"] == 0.1


def test_overrides_alone_can_make_a_section(project: Project) -> None:
    project.config.write_text(project.shared)
    project.config.chmod(0o640)
    overrides = (f"local.train_files={project.data}", f"local.val_files={project.data}", "local.ppo_mini_batch_size=8")
    assert told(load(project.config, overrides, environ={})) == []


def test_wrong_overrides_are_reported_with_the_files_findings(project: Project) -> None:
    loaded = project.load("rollout_n: 0\n", overrides=("lr", "local=3"))
    assert [code for code, *_ in told(loaded)] == ["ARL101", "ARL012", "ARL013"]


def test_wrong_overrides_are_reported_for_an_unreadable_file() -> None:
    assert [code for code, *_ in told(load("missing.yaml", ("lr",), environ={}))] == ["ARL001", "ARL012"]


def test_the_processes_environment_counts(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.load()
    monkeypatch.setenv("AGENTIC_RL__SEED", "9")
    assert load_config(project.config).seed == 9
    assert load(project.config, environ={}).require().seed == 0


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("AGENTIC_RL_LR", "AGENTIC_RL__LR"),
        ("AGENTIC_RL_VERL__NNODES", "AGENTIC_RL__VERL__NNODES"),
        ("AGENTIC_RL_VERL_NNODES", "AGENTIC_RL__VERL__NNODES"),
    ],
)
def test_a_variable_with_one_underscore_is_noted(project: Project, variable: str, meant: str) -> None:
    loaded = project.load(**{variable: "3"})
    (note,) = [finding for finding in loaded.report if variable in finding.message]
    assert (note.code, note.severity, note.file) == ("ARL012", "note", "environment")
    assert note.hint == f"write {meant}, or unset it"
    assert "environment" not in loaded.sources.values()


def test_variables_that_name_no_key_are_left_alone(project: Project) -> None:
    loaded = project.load(AGENTIC_RL_HOME="/x", AGENTIC_RL="1", AGENTIC_RLLR="1")
    assert [finding for finding in loaded.report if finding.file == "environment"] == []


# Without files


def test_without_files_one_note_says_what_was_not_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(
        "tokenizer_name_or_path: /no/model\nagent_name: math\ntrain_backend: local\n"
        "local:\n  train_files: /no/a\n  val_files: /no/b\n  ppo_mini_batch_size: 8\n"
        "verl: {train_files: /no/c, val_files: /no/d}\n"
    )
    path.chmod(0o644)
    loaded = load(path, files=False, environ={})
    assert told(loaded) == []
    (note,) = [finding for finding in loaded.report if finding.code == "ARL015"]
    assert (note.severity, note.file) == ("note", str(path))
    assert note.message == (
        "not looked at: tokenizer_name_or_path, local.train_files, local.val_files, and the file's own mode and owner"
    )
    assert [finding.code for finding in check(path, files=False)].count("ARL015") == 1


@pytest.mark.parametrize(
    ("path", "part"),
    [("models/one", "is relative"), ("~/one", "is not expanded"), ("/$HOME/one", "is not expanded"), ("/a\0", "NUL")],
)
def test_without_files_the_text_of_a_path_is_checked(path: str, part: str) -> None:
    tree = {
        "tokenizer_name_or_path": "/no/model",
        "agent_name": "math",
        "train_backend": "local",
        "local": {"train_files": path, "val_files": path, "ppo_mini_batch_size": 8},
    }
    (error,) = [one for one in load(tree, files=False, environ={}).report if one.severity == "error"]
    assert error.key == "local.train_files"
    assert part in error.message


def test_without_files_the_path_of_an_override_is_checked(project: Project) -> None:
    project.load()
    loaded = load(project.config, ["local.train_files=data/a"], files=False, environ={})
    (error,) = [one for one in loaded.report if one.severity == "error"]
    assert (error.key, error.file, error.line) == ("local.train_files", "command line", None)


def test_without_files_a_mapping_has_no_file_of_its_own() -> None:
    notes = [finding.message for finding in check({"lr": 1.0}, files=False) if finding.code == "ARL015"]
    assert notes == ["not looked at: the files that the configuration names"]


# Mappings and the public functions


@pytest.mark.parametrize("wrong", [None, b"c.yaml", 3, ["c.yaml"]])
def test_what_is_neither_a_path_nor_a_mapping_raises_type_error(wrong: object) -> None:
    with pytest.raises(TypeError, match=rf"os\.PathLike.* or a mapping, not {type(wrong).__name__}$"):
        check(wrong)  # type: ignore[arg-type]


def test_a_mapping_in_the_place_of_a_file(project: Project) -> None:
    mapping = {
        "tokenizer_name_or_path": project.model,
        "agent_name": "math",
        "train_backend": "local",
        "lr": -1,
        "local": {"train_files": str(project.data), "val_files": str(project.data), "ppo_mini_batch_size": 8},
    }
    report = check(mapping)
    assert [(finding.code, finding.key) for finding in report if finding.severity == "error"] == [("ARL101", "lr")]
    assert {(finding.file, finding.line, finding.column) for finding in report} == {("", None, None)}
    config = load_config(mapping, ["lr=1e-6"])
    assert config.lr == 1e-6


def test_a_mapping_that_lacks_everything() -> None:
    report = check({})
    assert {finding.key for finding in report if finding.severity == "error"} >= {"agent_name", "train_backend"}
    assert {finding.line for finding in report} == {None}


def test_load_config_raises_with_the_report(project: Project) -> None:
    project.load("lr: -1\n")
    with pytest.raises(ConfigError) as error:
        load_config(project.config)
    assert [finding.key for finding in error.value.report if finding.severity == "error"] == ["lr"]
    assert str(error.value).splitlines()[0].startswith(f"{project.config}:6:1 error")


def test_fix_permissions_sets_the_modes_of_the_file_and_of_what_it_names(project: Project) -> None:
    project.load()
    project.config.chmod(0o600)
    project.data.chmod(0o644)
    project.model.chmod(0o755)
    loaded = load(project.config, environ={})
    assert len(told(loaded)) == 3
    lines = loaded.fix_permissions()
    assert [line.split()[:2] for line in lines] == [["chmod", "640"], ["chmod", "750"], ["chmod", "640"]]
    assert told(load(project.config, environ={})) == []


def test_fix_permissions_leaves_alone_what_is_no_configuration(tmp_path: Path) -> None:
    for text in ("a: [\n", "runner: 1\ncluster: 2\n"):
        path = tmp_path / "other.yaml"
        path.write_text(text)
        path.chmod(0o644)
        assert load(path, environ={}).fix_permissions() == []
        assert path.stat().st_mode & 0o777 == 0o644


def test_remedies_name_the_file_itself(tmp_path: Path) -> None:
    path = tmp_path / "a config.yaml"
    path.write_text(f"tokenizer_name_or_path: {tmp_path}\nagent_name: math\ntrain_backend: local\n")
    path.chmod(0o644)
    hints = " ".join(finding.hint for finding in load(path).report)
    assert f"agentic-rl check '{path}' --fix-permissions" in hints


def test_files_of_a_prefix_get_their_modes(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    data = [tmp_path / f"rl_packed_{name}_document.bin" for name in ("input_ids", "labels")]
    for one in data:
        one.write_bytes(b"")
        one.chmod(0o644)
    path = tmp_path / "config.yaml"
    path.write_text(f"train_backend: mindspeed_rl\nmindspeed_rl:\n  data_path: {tmp_path}/rl_packed\n")
    load(path).fix_permissions()
    assert [one.stat().st_mode & 0o777 for one in data] == [0o640, 0o640]
