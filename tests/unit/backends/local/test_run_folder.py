from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from agentic_rl.backends.disk import disk_errors
from agentic_rl.backends.errors import RunFolderBusyError, SaveError
from agentic_rl.backends.local import run_folder
from agentic_rl.backends.run_folder import run_path


def test_the_path_is_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_path("project", "experiment") == tmp_path / "checkpoints" / "project" / "experiment"


def test_a_folder_is_made_with_the_documented_modes(tmp_path: Path) -> None:
    path = tmp_path / "checkpoints" / "project" / "experiment"
    with run_folder.opened(path) as folder:
        folder.describe({"lr": 1e-6, "local": {"project_name": "ä"}})
        folder.write_lines("failed_batch.jsonl", [{"tokens": [1]}, {"tokens": [2]}])
    for made in (path, path.parent, path.parent.parent):
        assert stat.S_IMODE(made.stat().st_mode) == 0o750
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.iterdir()} == {0o640}
    assert yaml.safe_load((path / "config.resolved.yaml").read_text()) == {"lr": 1e-6, "local": {"project_name": "ä"}}
    versions = json.loads((path / "versions.json").read_text())
    assert versions["python"] == sys.version.split()[0]
    assert versions["packages"]["torch"]
    assert [json.loads(line) for line in (path / "failed_batch.jsonl").read_text().splitlines()] == [
        {"tokens": [1]},
        {"tokens": [2]},
    ]


def test_both_growing_files_are_cut_to_what_a_checkpoint_saw(tmp_path: Path) -> None:
    with run_folder.opened(tmp_path) as folder:
        folder.metrics.write({"step": 1})
        lengths = folder.lengths()
        folder.metrics.write({"step": 2})
        folder.trajectories.write({"step": 2})
        folder.sync()
        assert folder.cut(lengths) == []
    assert (tmp_path / "metrics.jsonl").read_text() == '{"step": 1}\n'
    assert (tmp_path / "trajectories.jsonl").read_text() == ""


def test_a_file_that_somebody_changed_is_named(tmp_path: Path) -> None:
    with run_folder.opened(tmp_path) as folder:
        folder.metrics.write({"step": 1})
        lengths = folder.lengths()
    (tmp_path / "metrics.jsonl").write_text("")
    with run_folder.opened(tmp_path) as folder:
        assert folder.cut(lengths) == ["metrics.jsonl"]


HOLD = """
import sys, pathlib
from agentic_rl.backends.local import run_folder
with run_folder.opened(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_has_died(tmp_path: Path) -> None:
    first = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout is not None
    assert first.stdout.readline() == "held\n"
    message = f"process {first.pid} is training in {tmp_path}"
    with pytest.raises(RunFolderBusyError, match=message), run_folder.opened(tmp_path):
        pass
    first.kill()
    first.communicate()
    with run_folder.opened(tmp_path):
        assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"


def test_a_folder_that_cannot_be_made_is_an_expected_failure(tmp_path: Path) -> None:
    (tmp_path / "checkpoints").write_text("a file in the way")
    path = tmp_path / "checkpoints" / "project" / "experiment"
    with pytest.raises(SaveError, match="can't be written"), disk_errors(path), run_folder.opened(path):
        pass
