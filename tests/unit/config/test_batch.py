"""Several files, folders and standard input in one run."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest

from agentic_rl.config import artifacts, search
from agentic_rl.config.artifacts import READERS, Artifacts, Request, model
from agentic_rl.config.artifacts.repeated import Repeated
from agentic_rl.config.batch import Batch, Check
from agentic_rl.config.selection import Choice
from aura_trees import SOUND

GOOD = """\
tokenizer_name_or_path: /model
agent_name: math
train_backend: verl
entropy_coeff: 0.01
verl: {train_files: /a.parquet, val_files: /a.parquet, ppo_mini_batch_size: 8}
"""


def run(*paths: Path | str, **how: object) -> Batch:
    return Check(files=False, known=lambda: ("ARL101", "ARL015"), **how).run([str(path) for path in paths])  # type: ignore[arg-type]


def told(batch: Batch) -> list[tuple[str, str]]:
    return [(Path(finding.file).name, finding.code) for finding in batch.report if finding.code != "ARL015"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two configurations, one of them broken, among files that are none."""
    for name, text in {
        "good.yaml": GOOD,
        "sub/bad.yml": GOOD + "lr: -1\n",
        "sub/other.yaml": "repos: []\n",
        "sub/broken.yaml": "train_backend: [\n",
        "sub/list.yaml": "- a\n",
        ".hidden/bad.yaml": "train_backend: 1\n",
        "notes.txt": "train_backend: 1\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (tmp_path / "link.yaml").symlink_to(tmp_path / "sub" / "bad.yml")
    os.mkfifo(tmp_path / "pipe.txt")
    return tmp_path


def test_a_folder_is_checked_whole_and_what_is_none_is_skipped(folder: Path) -> None:
    batch = run(folder)
    assert [Path(one.file).name for one in batch.files] == ["good.yaml", "bad.yml", "broken.yaml"]
    assert sorted(told(batch)) == [
        ("bad.yml", "ARL101"),
        ("broken.yaml", "ARL004"),
        ("list.yaml", "ARL017"),
        ("other.yaml", "ARL017"),
    ]
    assert batch.render().splitlines()[-1] == "2 errors, 4 notes in 3 files"


def test_a_named_file_is_always_checked(folder: Path) -> None:
    assert told(run(folder / "sub/list.yaml")) == [("list.yaml", "ARL006")]


def test_named_files_that_are_none_are_skipped_on_request(folder: Path) -> None:
    batch = run(folder / "sub/list.yaml", skip_others=True)
    assert told(batch) == [("list.yaml", "ARL017")]
    assert batch.report.verdict == "ok"


def test_a_missing_file_is_never_skipped(folder: Path) -> None:
    assert told(run(folder / "none.yaml", skip_others=True)) == [("none.yaml", "ARL001")]


def test_another_format_is_skipped_in_a_folder(folder: Path) -> None:
    (folder / "good.yaml").write_text("cluster: {}\nrunner: {}\nactor: {}\n")
    (skipped,) = [finding for finding in run(folder).report if Path(finding.file).name == "good.yaml"]
    assert "RLinf's format, which this version does not read yet" in skipped.message


def test_a_folder_without_a_configuration_is_an_error(folder: Path) -> None:
    assert told(run(folder / ".hidden" / "..", folder)).count((folder.name, "ARL018")) == 0
    empty = folder / "empty"
    empty.mkdir()
    assert told(run(folder, empty)).count(("empty", "ARL018")) == 1


def test_a_folder_of_too_many_files_is_an_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_ENTRIES", 5)
    batch = run(folder)
    assert [code for _, code in told(batch)].count("ARL018") == 1
    assert batch.report.verdict == "error"


def test_json_of_one_file_is_one_object_and_of_several_has_each(folder: Path) -> None:
    one = json.loads(run(folder / "good.yaml").render("json"))
    assert list(one) == ["verdict", "findings", "config"]
    many = json.loads(run(folder / "good.yaml", folder / "sub/bad.yml").render("json"))
    assert list(many) == ["verdict", "findings", "files"]
    assert many["verdict"] == "error"
    assert [list(file) for file in many["files"]] == [["file", "verdict", "findings", "config"]] * 2
    assert [file["verdict"] for file in many["files"]] == ["ok", "error"]
    assert many["files"][0] == {"file": str(folder / "good.yaml"), **one}
    assert many["findings"] == [*many["files"][0]["findings"], *many["files"][1]["findings"]]


def test_a_file_named_twice_is_checked_once(folder: Path) -> None:
    assert len(run(folder / "good.yaml", folder / "good.yaml").files) == 1


def test_a_file_named_beside_its_folder_is_checked_once(tmp_path: Path) -> None:
    file = tmp_path / "alone.yaml"
    file.write_text(GOOD)
    batch = run(file, tmp_path, f"{tmp_path}/./alone.yaml")
    assert [one.file for one in batch.files] == [str(file)]
    assert batch.about_run == []


def test_standard_input_is_read_without_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(f"{GOOD}lr: -1\n".encode())))
    batch = Check().run(["-"])
    assert [(finding.code, finding.file, finding.line) for finding in batch.report] == [
        ("ARL015", "<stdin>", None),
        ("ARL101", "<stdin>", 6),
    ]
    assert "6 | lr: -1" in batch.render()
    assert "file=" not in batch.render("github")


def test_standard_input_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"#" * 2**21)))
    assert [finding.code for finding in Check().run(["-"]).report] == ["ARL002"]


def test_a_choice_filters_findings_but_not_what_can_not_be_read(folder: Path) -> None:
    typed = Choice(select=("ARL015",))
    assert told(run(folder / "sub/bad.yml", typed=typed)) == []
    assert told(run(folder / "sub/broken.yaml", typed=typed)) == [("broken.yaml", "ARL004")]


def test_the_settings_of_a_project_are_heeded(folder: Path) -> None:
    (folder / "sub" / "pyproject.toml").write_text('[tool.agentic-rl]\nignore = ["ARL101", "ARL015"]\nx = 1\n')
    batch = run(folder / "sub" / "bad.yml", folder / "sub" / "broken.yaml", folder / "good.yaml")
    severities = [(finding.code, finding.severity) for finding in batch.report]
    assert severities.count(("ARL101", "warning")) == 1
    assert severities.count(("ARL019", "error")) == 1
    assert [code for code, _ in severities].count("ARL015") == 1


def test_overrides_win_over_every_file(folder: Path) -> None:
    batch = run(folder / "good.yaml", folder / "sub" / "bad.yml", overrides=["lr=1e-5"])
    assert told(batch) == []
    assert [one.config["lr"] for one in batch.files] == [1e-5, 1e-5]


def test_a_shared_file_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def reader(request: Request) -> Artifacts:
        reads.append(request.values["tokenizer_name_or_path"])
        return Artifacts()

    monkeypatch.setattr(artifacts, "READERS", (reader,))
    other = folder / "other.yaml"
    other.write_text(GOOD + "lr: 1.0e-5\n")
    Check().run([str(folder / "good.yaml"), str(other)])
    assert reads == ["/model"]


def test_a_model_that_files_of_instances_share_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[str] = []

    def reader(request: Request) -> Artifacts:
        reads.append(request.values["tokenizer_name_or_path"])
        return Artifacts()

    monkeypatch.setattr(
        artifacts, "repeated", lambda: tuple(Repeated(reader if one is model.read else one) for one in READERS)
    )
    for name in ("one", "two"):
        changed = SOUND.replace("project_name: ", f"project_name: {name}-")
        (tmp_path / f"{name}.yaml").write_text(changed)
    Check().run([str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml")])
    assert len(reads) == 1
