from __future__ import annotations

from pathlib import Path

import pytest

from agentic_rl.backends import run_folder
from agentic_rl.backends.local import run_folder as local_run_folder
from agentic_rl.view import run as run_module
from agentic_rl.view.errors import ViewError
from agentic_rl.view.run import find_run
from view_doubles import write_run


def test_the_files_have_the_names_that_the_backends_give_them() -> None:
    names = (run_module.METRICS, run_module.CONFIG, run_module.VERSIONS)
    assert names == (run_folder.METRICS, run_folder.CONFIG, run_folder.VERSIONS)
    assert run_module.TRAJECTORIES == local_run_folder.TRAJECTORIES


def test_a_run_is_found_by_its_folder_its_file_and_as_the_only_one_below(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "checkpoints" / "calc" / "seed-0")
    found = find_run(folder)
    assert (found.title, found.folder) == ("calc/seed-0", folder)
    assert found.configuration.startswith("agent_name: math")
    assert find_run(folder / "trajectories.jsonl") == find_run(tmp_path) == find_run(tmp_path / "checkpoints") == found


def test_a_run_of_measurements_alone_is_one(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").touch()
    run = find_run(tmp_path)
    assert (run.configuration, run.versions) == ("", "")


def test_several_runs_are_listed(tmp_path: Path) -> None:
    for number in range(10):
        write_run(tmp_path / "calc" / f"seed-{number}")
    with pytest.raises(ViewError, match=r"has 10 runs; give one of them:\n  .*seed-0\n(.*\n)*.*and 2 more"):
        find_run(tmp_path)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ViewError, match="does not exist; give the folder of a run"):
        find_run(tmp_path / "none")
    with pytest.raises(ViewError, match=r"has no metrics\.jsonl and no trajectories\.jsonl"):
        find_run(tmp_path)
