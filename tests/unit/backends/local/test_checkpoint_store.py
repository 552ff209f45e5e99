from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from agentic_rl.backends.errors import SaveError
from agentic_rl.backends.local.checkpoint_store import POINTER, CheckpointStore, resumable
from agentic_rl.config.artifacts import checkpoints
from agentic_rl.config.artifacts.result import Request
from agentic_rl.config.manifest import TornCheckpointError
from agentic_rl.config.writing import make_folder


def fill(folder: Path) -> None:
    (folder / "weights").write_bytes(b"12345")


@pytest.fixture
def store(tmp_path: Path) -> CheckpointStore:
    return CheckpointStore(tmp_path)


def silent(warning: str) -> None:
    raise AssertionError(warning)


def test_what_was_written_is_found_and_whole(store: CheckpointStore) -> None:
    written = store.write(3, ["model"], fill)
    assert written.path == store.folder / "global_step_3"
    newest = store.newest(silent)
    assert newest == written
    assert newest is not None
    assert newest.step == 3
    assert (store.folder / POINTER).read_text() == "3"
    assert stat.S_IMODE(written.path.stat().st_mode) == 0o750
    assert {stat.S_IMODE(file.stat().st_mode) for file in written.path.iterdir()} == {0o640}


def test_an_empty_folder_has_no_checkpoint(store: CheckpointStore) -> None:
    assert store.newest(silent) is None


def test_torn_ones_are_skipped_each_with_a_warning(store: CheckpointStore) -> None:
    for step in (1, 2, 10):
        store.write(step, ["model"], fill)
    (store.path(10) / "weights").unlink()
    (store.path(2) / "manifest.json").write_text("{")
    warnings: list[str] = []
    newest = store.newest(warnings.append)
    assert newest is not None
    assert newest.step == 1
    assert [str(store.path(step)) in warning for step, warning in zip((10, 2), warnings, strict=True)] == [True, True]
    assert all(warning.startswith("warning: skipping the torn checkpoint") for warning in warnings)


def test_a_checkpoint_under_another_number_is_torn(store: CheckpointStore) -> None:
    store.write(1, ["model"], fill)
    store.path(1).rename(store.path(2))
    warnings: list[str] = []
    assert store.newest(warnings.append) is None
    assert "manifest.json is that of step 1" in warnings[0]


def test_a_torn_one_is_replaced_when_its_step_is_reached_again(store: CheckpointStore) -> None:
    store.write(1, ["model"], fill)
    (store.path(1) / "weights").write_bytes(b"1")
    store.write(1, ["model"], fill)
    assert store.whole(1).step == 1


def test_only_the_newest_are_kept_and_numbers_are_not_compared_as_text(store: CheckpointStore) -> None:
    for step in (2, 9, 10, 100):
        store.write(step, ["model"], fill)
    store.keep_newest(3, 100)
    assert store.steps() == [9, 10, 100]
    store.keep_newest(5, 100)
    assert store.steps() == [9, 10, 100]


def test_torn_ones_of_later_steps_do_not_push_out_whole_ones(store: CheckpointStore) -> None:
    for step in (1, 2, 5, 6, 3):
        store.write(step, ["model"], fill)
    store.keep_newest(2, 3)
    assert store.steps() == [2, 3, 5, 6]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_one_of_another_mode_is_skipped(store: CheckpointStore) -> None:
    store.write(1, ["model"], fill)
    store.write(2, ["model"], fill)
    store.path(2).chmod(0)
    warnings: list[str] = []
    newest = store.newest(warnings.append)
    store.path(2).chmod(0o750)
    assert newest is not None
    assert newest.step == 1
    assert "can't be read: Permission denied" in warnings[0]


def test_one_that_cannot_be_read_is_skipped(store: CheckpointStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **keywords: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    store.write(1, ["model"], fill)
    monkeypatch.setattr(Path, "is_symlink", refuse)
    with pytest.raises(TornCheckpointError, match="global_step_1 can't be read: Permission denied"):
        store.whole(1)


def test_a_link_to_another_experiment_is_skipped_does_not_count_and_its_target_stays(
    store: CheckpointStore, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = CheckpointStore(tmp_path_factory.mktemp("other"))
    other.write(2, ["model"], fill)
    store.write(1, ["model"], fill)
    store.path(2).symlink_to(other.path(2))
    warnings: list[str] = []
    newest = store.newest(warnings.append)
    assert newest is not None
    assert newest.step == 1
    assert "another experiment's checkpoint must not count as this one's" in warnings[0]
    store.keep_newest(1, 2)
    assert store.steps() == [1, 2]
    store.write(2, ["model"], fill)
    assert store.whole(2).step == 2
    assert not store.path(2).is_symlink()
    assert other.whole(2).step == 2


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "check the folder's owner and mode"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "make room"),
        (OSError("Error while serializing: No space left on device (os error 28)"), "make room"),
        (OSError("Error while serializing: Permission denied (os error 13)"), "check the folder's owner and mode"),
        (OSError(errno.EFBIG, "File too large"), "raise the limit of a file's size"),
    ],
)
def test_only_a_full_disk_asks_for_room(store: CheckpointStore, error: OSError, remedy: str) -> None:
    def fail(folder: Path) -> None:
        raise error

    with pytest.raises(SaveError) as caught:
        store.write(2, ["model"], fail)
    assert caught.value.hint.startswith(remedy)


def test_a_failing_disk_leaves_the_older_checkpoint_and_no_trace(store: CheckpointStore) -> None:
    store.write(1, ["model"], fill)

    def fail(folder: Path) -> None:
        fill(folder)
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(SaveError, match="No space left on device; the earlier checkpoints are whole") as caught:
        store.write(2, ["model"], fail)
    assert "make room" in caught.value.hint
    assert store.steps() == [1]
    assert sorted(path.name for path in store.folder.iterdir()) == ["global_step_1", POINTER]


def test_leftovers_of_killed_processes_are_removed_and_nothing_else(store: CheckpointStore) -> None:
    for name in (".saving_3", ".removing_1", "global_step_2", "notes"):
        (store.folder / name).mkdir()
        fill(store.folder / name)
    (store.folder / ".0123456789abcdef.tmp").touch()
    (store.folder / ".lock").touch()
    store.remove_leftovers()
    assert sorted(path.name for path in store.folder.iterdir()) == [".lock", "global_step_2", "notes"]


@pytest.mark.parametrize(
    ("content", "enough"),
    [
        (["model", "optimizer", "extra"], True),
        (["hf_model", "optimizer", "extra"], True),
        (["model", "optimizer"], False),
        (["model", "extra"], False),
        (["optimizer", "extra"], False),
    ],
)
def test_what_is_needed_to_go_on(content: list[str], enough: bool) -> None:
    assert resumable(content) is enough


def linked(folder: Path) -> None:
    folder.rename(folder.parent / "elsewhere")
    folder.symlink_to(folder.parent / "elsewhere")


def linked_file(folder: Path) -> None:
    (folder / "weights").rename(folder.parent / "weights")
    (folder / "weights").symlink_to(folder.parent / "weights")


def piped(folder: Path) -> None:
    (folder / "weights").unlink()
    os.mkfifo(folder / "weights")


def cut(folder: Path) -> None:
    (folder / "weights").write_bytes(b"1")


def renumbered(folder: Path) -> None:
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text(text.replace('"step": 2', '"step": 3'))


def without_content(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"step": 2, "files": {}}')


def unreadable(folder: Path) -> None:
    (folder / "weights").chmod(0)


@pytest.mark.parametrize(
    "damage", [linked, linked_file, piped, cut, renumbered, without_content, unreadable], ids=lambda one: one.__name__
)
def test_a_check_tells_the_checkpoint_that_the_run_goes_on_from(
    damage: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if damage is unreadable and os.geteuid() == 0:
        pytest.skip("root reads everything")
    monkeypatch.chdir(tmp_path)
    store = CheckpointStore(make_folder(tmp_path / "checkpoints/p/e"))
    for step in (1, 2):
        store.write(step, ["model"], fill)
    damage(store.path(2))
    newest = store.newest(lambda warning: None)
    assert newest is not None
    values = {"train_backend": "local", "local.project_name": "p", "local.experiment_name": "e"}
    facts = checkpoints.read(Request(values, {}, {}, {})).facts
    assert facts["@checkpoint.step"] == newest.step == 1
