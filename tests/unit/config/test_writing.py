import errno
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from stat import S_IMODE
from typing import BinaryIO

import pytest

from agentic_rl.config.secure_paths import check_path
from agentic_rl.config.writing import make_folder, open_append, open_new, rename_folder_into_place, replace_file


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o777], ids="umask {0:03o}".format)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path.resolve() / "root"
    folder.mkdir()
    folder.chmod(0o750)
    before = os.umask(request.param)
    yield folder
    os.umask(before)


def mode(path: Path) -> int:
    return S_IMODE(path.lstat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_is_written_passes_the_check_whatever_the_umask(root: Path) -> None:
    folder = make_folder(root / "a/b/c")
    with open_new(folder / "new") as file:
        file.write(b"1")
    with open_append(folder / "log") as file:
        file.write(b"2")
    with replace_file(folder / "state") as file:
        file.write(b"3")
    make_folder(root / "tmp/deep")
    for name in ("tmp/file", "tmp/deep/file"):
        (root / name).write_text("by a library")
    rename_folder_into_place(root / "tmp", root / "step_1")
    assert check_path(str(root), "key").findings == []
    assert (root / "step_1/deep/file").read_text() == "by a library"


def test_an_ordinary_user_writes_with_the_right_modes_whatever_the_umask(run_as_ordinary_user) -> None:
    code = """
os.umask(0o777)
with open_new(make_folder(folder / "a/b") / "new") as file: file.write(b"1")
with replace_file(folder / "a/state") as file: file.write(b"3")
with open_append(folder / "a/log") as file: file.write(b"2")
make_folder(folder / "tmp")
with open_new(folder / "tmp/file") as file: file.write(b"1")
(folder / "tmp/file").chmod(0o400)
rename_folder_into_place(folder / "tmp", folder / "a/step_1")
result = [one.message for one in check_path(str(folder), "key").findings]
"""
    assert run_as_ordinary_user(code) == []


def test_a_set_group_id_folder_does_not_hand_its_bit_down(root: Path) -> None:
    root.chmod(0o2750)
    make_folder(root / "a/b")
    (root / "tmp").mkdir()
    rename_folder_into_place(root / "tmp", root / "step_1")
    assert {mode(root / name) for name in ("a", "a/b", "step_1")} == {0o750}


def test_existing_folders_stay_as_they_are(root: Path) -> None:
    (root / "mine").mkdir()
    (root / "mine").chmod(0o700)
    (root / "link").symlink_to("mine")
    assert make_folder(root / "mine") == root / "mine"
    make_folder(str(root / "link/below"))
    assert mode(root / "mine") == 0o700
    assert mode(root / "mine/below") == 0o750


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path.resolve()


def test_a_file_or_a_broken_link_is_no_folder(folder: Path) -> None:
    (folder / "file").touch()
    (folder / "broken").symlink_to("nowhere")
    for name in ("file", "broken"):
        with pytest.raises(FileExistsError) as caught:
            make_folder(folder / name)
        assert caught.value.filename == str(folder / name)


def test_many_make_the_same_folder_at_once(folder: Path) -> None:
    failures: list[Exception] = []

    def make() -> None:
        try:
            for number in range(50):
                make_folder(folder / f"a/{number}/b/c")
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert {mode(path) for path in folder.rglob("*")} == {0o750}


def test_a_new_file_never_replaces_anything(folder: Path) -> None:
    (folder / "file").write_text("old")
    (folder / "broken").symlink_to("elsewhere")
    for name in ("file", "broken"):
        with pytest.raises(FileExistsError) as caught:
            open_new(folder / name)
        assert caught.value.filename == str(folder / name)
    assert (folder / "file").read_text() == "old"
    assert not (folder / "elsewhere").exists()


def test_appending_keeps_what_is_there_and_corrects_the_mode(folder: Path) -> None:
    (folder / "log").write_text("one\n")
    (folder / "log").chmod(0o666)
    with open_append(folder / "log") as file:
        assert file.tell() == 4
        file.write(b"two\n")
    assert (folder / "log").read_text() == "one\ntwo\n"
    assert mode(folder / "log") == 0o640


@pytest.mark.parametrize(
    "make", [lambda path: path.symlink_to("real"), os.mkfifo, os.mkdir], ids=["link", "pipe", "folder"]
)
def test_appending_goes_to_regular_files_only(folder: Path, make) -> None:
    (folder / "real").touch()
    make(folder / "log")
    with pytest.raises(OSError) as caught:  # noqa: PT011 (the number differs by kind; the name must be there)
        open_append(folder / "log")
    assert caught.value.filename == str(folder / "log")
    assert (folder / "real").read_text() == ""


def test_a_pipe_that_somebody_reads_is_refused_too(folder: Path) -> None:
    os.mkfifo(folder / "log")
    reader = os.open(folder / "log", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(OSError, match="not a regular file"):
        open_append(folder / "log")
    os.close(reader)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave a file of root's in an ordinary user's folder")
def test_another_users_log_is_not_written_to(ordinary_folder: Path, run_as_ordinary_user) -> None:
    (ordinary_folder / "log").touch()
    (ordinary_folder / "log").chmod(0o666)
    result = run_as_ordinary_user(
        """
try: open_append(folder / "log")
except OSError as error: result = [error.errno, error.filename]
"""
    )
    assert result == [errno.EPERM, str(ordinary_folder / "log")]


def test_a_file_is_replaced_as_a_whole_or_not_at_all(folder: Path) -> None:
    (folder / "state").write_text("old")
    with replace_file(folder / "state") as file:
        file.write(b"new")
        file.flush()
        assert (folder / "state").read_text() == "old"
    assert (folder / "state").read_text() == "new"
    with pytest.raises(KeyboardInterrupt), replace_file(folder / "state") as file:
        _write_and_interrupt(file)
    assert (folder / "state").read_text() == "new"
    assert names(folder) == ["state"]


def test_replacing_a_link_leaves_its_target_alone(folder: Path) -> None:
    (folder / "target").write_text("old")
    (folder / "state").symlink_to("target")
    with replace_file(folder / "state") as file:
        file.write(b"new")
    assert not (folder / "state").is_symlink()
    assert (folder / "target").read_text() == "old"


def test_a_name_of_255_bytes_can_be_replaced(folder: Path) -> None:
    name = "字" * 85
    with replace_file(folder / name) as file:
        file.write(b"new")
    assert (folder / name).read_text() == "new"


def test_a_missing_folder_is_named_by_the_file_that_was_meant(folder: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replace_file(folder / "no/state"):
        pass
    assert caught.value.filename == str(folder / "no/state")


FULL_DISK = """
import resource, signal, sys
from agentic_rl.config.writing import open_append, replace_file
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
folder = sys.argv[1]
for size in (90_000, 200_000, 5_000_000):
    try:
        with replace_file(f"{folder}/state") as file:
            file.write(b"x" * size)
    except OSError as error:
        print(error.filename)
try:
    with open_append(f"{folder}/log") as file:
        file.write(b"x" * 200_000)
except OSError as error:
    print(error.filename)
"""


def test_a_full_disk_leaves_the_old_file_and_nothing_else(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FULL_DISK, folder], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [f"{folder}/state", f"{folder}/state", f"{folder}/log"]
    assert (folder / "state").stat().st_size == 90_000
    assert names(folder) == ["log", "state"]


def test_a_finished_folder_appears_only_where_nothing_is(folder: Path) -> None:
    for name in ("tmp/file", "step_1/file"):
        (folder / name).parent.mkdir()
        (folder / name).write_text(name)
    with pytest.raises(OSError, match="not empty") as caught:
        rename_folder_into_place(folder / "tmp", folder / "step_1")
    assert caught.value.filename == str(folder / "tmp")
    assert (folder / "step_1/file").read_text() == "step_1/file"
    rename_folder_into_place(folder / "tmp", folder / "step_2")
    assert names(folder) == ["step_1", "step_2"]


@pytest.mark.parametrize("make", [lambda path: path.symlink_to("/"), os.mkfifo], ids=["link", "pipe"])
def test_a_folder_with_a_link_or_a_pipe_is_not_put_into_place(folder: Path, make) -> None:
    (folder / "tmp").mkdir()
    make(folder / "tmp/odd")
    with pytest.raises(OSError) as caught:  # noqa: PT011 (the number differs by kind; the name must be there)
        rename_folder_into_place(folder / "tmp", folder / "final")
    assert caught.value.filename == str(folder / "tmp/odd")
    assert not (folder / "final").exists()


def test_everything_is_on_the_disk_before_the_name_and_the_name_at_the_end(folder: Path, monkeypatch) -> None:
    events: list[str] = []
    syncs, renames = os.fsync, os.rename

    def sync(descriptor: int) -> None:
        events.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()).removeprefix(f"{folder}"))
        syncs(descriptor)

    def rename(*names: str) -> None:
        events.append("rename")
        renames(*names)

    monkeypatch.setattr(os, "fsync", sync)
    for owner in (os, Path):  # pathlib of Python 3.10 keeps functions of os of its own
        monkeypatch.setattr(owner, "rename", rename)
        monkeypatch.setattr(owner, "replace", rename)
    (folder / "tmp/deep").mkdir(parents=True)
    (folder / "tmp/deep/file").touch()
    rename_folder_into_place(folder / "tmp", folder / "final")
    assert events == ["/tmp/deep/file", "/tmp/deep", "/tmp", "rename", ""]
    events.clear()
    with replace_file(folder / "state"):
        pass
    assert [event for event in events if not event.endswith(".tmp")] == ["rename", ""]
    assert events[0].endswith(".tmp")


@pytest.mark.parametrize("fails", ["fsync", "fchmod"])
def test_a_failing_disk_names_the_file(folder: Path, monkeypatch, fails: str) -> None:
    (folder / "state").write_text("old")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, fails, fail)
    with pytest.raises(OSError, match="Input/output") as caught, replace_file(folder / "state"):
        pass
    assert caught.value.filename == str(folder / "state")
    assert names(folder) == ["state"]
    assert (folder / "state").read_text() == "old"


def _write_and_interrupt(file: BinaryIO) -> None:
    file.write(b"half")
    raise KeyboardInterrupt
