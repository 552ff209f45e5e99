from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from stat import S_IMODE

import pytest

from agentic_rl.config.load import load
from agentic_rl.projects import NAMES, ProjectError, create
from agentic_rl.projects.folder import new_project

FILES = {
    "README.md",
    "config.yaml",
    "data/demonstrations.parquet",
    "data/test.parquet",
    "data/train.parquet",
    "model/chat_template.jinja",
    "model/config.json",
    "model/generation_config.json",
    "model/model.safetensors",
    "model/tokenizer.json",
    "model/tokenizer_config.json",
}


def files_below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_the_project_is_whole_and_nothing_else_is_left(project: Path) -> None:
    assert files_below(project) == FILES
    assert {entry.name for entry in project.iterdir()} == {"README.md", "config.yaml", "data", "model"}


@pytest.mark.parametrize("umask", [0o000, 0o077])
def test_modes_do_not_depend_on_the_umask(tmp_path: Path, umask: int) -> None:
    folder = tmp_path / "new" / "project"
    before = os.umask(umask)
    try:
        written = create("quickstart", folder)
    finally:
        os.umask(before)
    assert {path.relative_to(folder).as_posix() for path in written} == FILES
    modes = {path: S_IMODE(path.stat().st_mode) for path in [folder, *folder.rglob("*")]}
    assert set(modes.values()) == {0o750, 0o640}
    assert all((mode == 0o750) == path.is_dir() for path, mode in modes.items())


def test_the_configuration_has_no_finding(project: Path) -> None:
    loaded = load(project / "config.yaml")
    assert list(loaded.report) == []
    assert loaded.require().local is not None


def test_every_key_of_the_configuration_has_a_comment(project: Path) -> None:
    lines = (project / "config.yaml").read_text().splitlines()
    keys = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    uncommented = [line for line in keys if " # " not in line]
    assert uncommented == ["local:"]


def test_a_change_of_backend_is_a_change_of_two_words(project: Path, tmp_path: Path) -> None:
    """As the project's README says: the section's name, the backend's, and the keys that only `local` has."""
    lines = (project / "config.yaml").read_text().splitlines()
    kept = [line for line in lines if not line.strip().startswith(("sft_", "threads:"))]
    moved = tmp_path / "config.yaml"
    moved.write_text(
        "\n".join(kept).replace("train_backend: local ", "train_backend: verl ").replace("local:\n", "verl:\n")
    )
    moved.chmod(0o640)
    assert [finding for finding in load(moved).report if finding.severity == "error"] == []


def test_the_readme_names_this_project(project: Path) -> None:
    assert f"agentic-rl --config-path {project}/config.yaml" in (project / "README.md").read_text()


def test_equal_seeds_give_equal_files_and_others_do_not(project: Path, tmp_path: Path) -> None:
    create("quickstart", tmp_path / "same", seed=5)
    create("quickstart", tmp_path / "other", seed=6)
    for name in FILES - {"README.md", "config.yaml"}:
        assert (project / name).read_bytes() == (tmp_path / "same" / name).read_bytes(), name
    for name in ("model/model.safetensors", "data/train.parquet", "data/test.parquet", "data/demonstrations.parquet"):
        assert (project / name).read_bytes() != (tmp_path / "other" / name).read_bytes(), name
    assert "seed: 6 " in (tmp_path / "other" / "config.yaml").read_text()


def test_the_callers_random_numbers_stay_as_they_were(tmp_path: Path) -> None:
    import torch

    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    create("quickstart", tmp_path / "project")
    assert torch.equal(torch.rand(3), expected)


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ProjectError, match=r"is not empty: it holds mine\.txt, and nothing is overwritten"):
        create("quickstart", tmp_path)
    assert files_below(tmp_path) == {"mine.txt"}


def test_many_entries_are_counted(tmp_path: Path) -> None:
    for number in range(8):
        (tmp_path / f"{number}.txt").touch()
    with pytest.raises(ProjectError, match=r"4\.txt and 3 more"):
        create("quickstart", tmp_path)


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProjectError, match="Not a directory"):
        create("quickstart", tmp_path / "file" / "below")


def test_an_unknown_project_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(ProjectError, match="'slowstart'; there is: quickstart, instances"):
        create("slowstart", tmp_path / "project")
    assert NAMES == ("quickstart", "instances")


def test_a_path_that_training_refuses_is_refused_before_it_is_filled(tmp_path: Path) -> None:
    folder = tmp_path / "a $HOME"
    with pytest.raises(ProjectError, match="not expanded"), new_project(folder) as (staging, _):
        (staging / "file").touch()
    assert not folder.exists()


def begin_and_fail(folder: Path) -> None:
    with new_project(folder) as (staging, _):
        (staging / "half").touch()
        raise OSError(28, "no space", str(folder))


def test_what_was_begun_is_removed_when_writing_fails(tmp_path: Path) -> None:
    new, existing = tmp_path / "new", tmp_path / "existing"
    existing.mkdir()
    for folder in (new, existing):
        with pytest.raises(ProjectError, match="no space; choose"):
            begin_and_fail(folder)
    assert not new.exists()
    assert list(existing.iterdir()) == []


def test_an_empty_folder_gets_the_documented_mode(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir(0o755)
    with new_project(folder) as (staging, target):
        (staging / "file").touch()
        assert target == folder
    assert S_IMODE(folder.stat().st_mode) == 0o750
    assert S_IMODE((folder / "file").stat().st_mode) == 0o640


def test_odd_characters_of_a_path_survive(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s a "test" # é: x'
    create("quickstart", folder)
    assert list(load(folder / "config.yaml").report) == []


def test_without_torch_the_error_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ProjectError, match=r"torch is not installed; run: pip install 'agentic-rl\[local\]'"):
        create("quickstart", tmp_path / "project")
    assert not (tmp_path / "project").exists()


def test_importing_the_room_loads_nothing_heavy() -> None:
    code = "import sys, agentic_rl.projects; print({'torch', 'transformers', 'pyarrow'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
