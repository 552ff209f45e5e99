import os
from pathlib import Path

import pytest

from agentic_rl.agents.tools.inside.folders import remove, too_large


def test_a_folder_deeper_than_paths_and_recursion_is_removed_and_too_large(tmp_path, monkeypatch):
    folder = tmp_path / "filled"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for _ in range(2500):
        Path("d").mkdir()
        os.chdir("d")
    Path("file").touch()
    os.chdir(tmp_path)
    assert too_large(str(folder), 10_000, 10**9)
    remove(str(folder))
    assert not folder.exists()


def test_modes_links_and_odd_names_do_not_stop_it(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    folder = tmp_path / "filled"
    (folder / "a" / "b" / "c").mkdir(parents=True)
    (folder / "a" / "link").symlink_to(outside)
    (folder / "pipe\n").touch()
    os.mkfifo(folder / "a" / "b" / "pipe")
    for path in (folder / "a" / "b" / "c", folder / "a" / "b", folder / "a"):
        path.chmod(0)
    remove(str(folder))
    assert not folder.exists()
    assert (outside / "kept").exists()
    assert outside.stat().st_mode & 0o777


@pytest.mark.parametrize(("files", "size", "expected"), [(10, 10**6, False), (2, 10**6, True), (10, 1000, True)])
def test_files_and_bytes_are_counted(tmp_path, files, size, expected):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a").write_bytes(bytes(5000))
    (tmp_path / "b").write_bytes(bytes(5000))
    assert too_large(str(tmp_path), files, size) is expected
