import os
import pickle
from pathlib import Path

import pytest

from agentic_rl.config.secure_paths import CheckedPath, PathChangedError, check_path


def checked(path: Path) -> CheckedPath:
    result = check_path(str(path), "key").checked
    assert result is not None
    return result


def test_what_was_checked_opens(tree) -> None:
    root = tree("file")
    with checked(root / "file").open() as file:
        assert file.read() == b"content"
    folder = checked(root).folder_fd()
    assert [entry.name for entry in os.scandir(folder)] == ["file"]
    os.close(folder)
    assert checked(root).confirm() == str(root)


def test_a_file_is_no_folder_and_a_folder_no_file(tree) -> None:
    root = tree("file")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        checked(root).open()
    with pytest.raises(NotADirectoryError, match="is a file"):
        checked(root / "file").folder_fd()


def remove(path: Path) -> None:
    path.unlink()


def link(path: Path) -> None:
    path.rename(path.with_name("real"))
    path.symlink_to("real")


def another(path: Path) -> None:
    other = path.with_name("other")
    other.write_text("evil")
    other.chmod(0o640)
    other.rename(path)


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path, 0o640)


def looser(path: Path) -> None:
    path.chmod(0o666)


CHANGES = [
    (remove, "No such file"),
    (link, "symbolic link"),
    (another, "is another file"),
    (pipe, "is another file|is no file"),
    (looser, "has mode 666, not 640"),
]


@pytest.mark.parametrize(("change", "why"), CHANGES, ids=[change.__name__ for change, _ in CHANGES])
def test_what_changed_after_the_check_is_not_opened(tree, change, why: str) -> None:
    file = tree("file") / "file"
    before = checked(file)
    change(file)
    for use in (before.open, before.confirm):
        with pytest.raises(PathChangedError, match=f"ARL313 {file} changed after it was checked: it .*({why})"):
            use()


def test_a_folder_swapped_for_a_link_or_another_folder_is_not_opened(tree) -> None:
    root = tree("folder/file", "other/file")
    before = checked(root / "folder")
    (root / "folder").rename(root / "moved")
    (root / "folder").symlink_to("moved")
    with pytest.raises(PathChangedError):
        before.folder_fd()
    (root / "folder").unlink()
    (root / "other").rename(root / "folder")
    with pytest.raises(PathChangedError, match="is another file or folder"):
        before.folder_fd()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_new_owner_is_noticed(tree) -> None:
    file = tree("file") / "file"
    before = checked(file)
    os.chown(file, 4321, -1)
    with pytest.raises(PathChangedError, match="another owner"):
        before.open()


def test_refusing_leaves_no_descriptor_open(tree) -> None:
    file = tree("file") / "file"
    before = checked(file)
    looser(file)
    open_before = len([*Path("/proc/self/fd").iterdir()])
    for _ in range(5):
        with pytest.raises(PathChangedError):
            before.open()
    assert len([*Path("/proc/self/fd").iterdir()]) == open_before


def test_both_travel_to_another_process(tree) -> None:
    before = checked(tree("file") / "file")
    assert pickle.loads(pickle.dumps(before)) == before
    looser(Path(before.path))
    with pytest.raises(PathChangedError) as caught:
        before.open()
    assert isinstance(caught.value, OSError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
