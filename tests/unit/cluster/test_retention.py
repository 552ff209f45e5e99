"""Emptying a run's folder: all of a run, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.backends.errors import RunFolderBusyError
from agentic_rl.backends.run_folder import locked
from agentic_rl.cluster.retention import UncleanError, clean, run_folder

FOLDERS = ("global_step_0", "global_step_120", "iter_0000010", "release", "tensorboard", ".saving_4", ".removing_2")
FILES = (
    "latest_checkpointed_iteration.txt",
    "metrics.jsonl",
    "trajectories.jsonl",
    "learning_curve.png",
    "config.resolved.yaml",
    "versions.json",
    "evaluation.json",
    "failed_batch.jsonl",
    "verl.metrics.jsonl",
    ".0123456789abcdef.tmp",
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "checkpoints" / "project" / "experiment"
    folder.mkdir(parents=True)
    for name in FOLDERS:
        (folder / name).mkdir()
        (folder / name / "weights").write_text("w")
    for name in FILES:
        (folder / name).write_text("t")
    return folder


def left(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()} - {".lock"}


def test_all_of_a_run_goes(run: Path) -> None:
    assert set(clean(run)) == {*FOLDERS, *FILES}
    assert left(run) == set()


def test_a_folder_that_is_not_there_is_clean(tmp_path: Path) -> None:
    assert clean(tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("stranger", ["notes.txt", "global_step_5.bak", "global_step_", "data", ".git", "released"])
def test_what_no_run_wrote_stops_it_before_anything_is_removed(run: Path, stranger: str) -> None:
    (run / stranger).mkdir()
    with pytest.raises(UncleanError, match="nothing was removed") as caught:
        clean(run)
    assert stranger in str(caught.value)
    assert left(run) == {*FOLDERS, *FILES, stranger}


def test_a_link_goes_and_what_it_points_to_stays(run: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "weights").write_text("w")
    (run / "global_step_7").symlink_to(kept)
    clean(run)
    assert left(run) == set()
    assert (kept / "weights").read_text() == "w"


def test_a_folder_in_which_a_process_trains_is_left_alone(run: Path) -> None:
    with locked(run), pytest.raises(RunFolderBusyError):
        clean(run)
    assert left(run) == {*FOLDERS, *FILES}


def test_the_folder_of_a_run_is_two_names_below_the_root(tmp_path: Path) -> None:
    assert run_folder(tmp_path, "p", "e") == tmp_path / "p" / "e"


@pytest.mark.parametrize(("project", "experiment"), [("..", "e"), ("p", ".."), ("p", ""), ("p", "a/b"), (".", "e")])
def test_names_that_lead_elsewhere_are_refused(tmp_path: Path, project: str, experiment: str) -> None:
    with pytest.raises(UncleanError, match="no two folder names"):
        run_folder(tmp_path, project, experiment)


def test_a_link_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "e").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UncleanError, match="is a link to"):
        run_folder(tmp_path, "p", "e")
