import os
import shlex
import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from agentic_rl.config.rules import PAGES
from agentic_rl.config.secure_paths import check_path, check_prefix, prefix_files, walk


def codes(path: Path | str, kind="any") -> list[str]:
    return [one.code for one in check_path(str(path), "key", kind).findings]


def one_finding(path: Path | str, code: str, kind="any"):
    findings = check_path(str(path), "key", kind).findings
    assert [one.code for one in findings] == [code]
    assert findings[0].severity == PAGES[code].severity
    return findings[0]


def test_a_tree_with_the_right_modes_passes_with_its_identity(tree) -> None:
    root = tree("a/b/model.safetensors", "config.json")
    status = root.stat()
    checked = check_path(str(root), "key").checked
    assert checked is not None
    assert (checked.path, checked.kind) == (str(root), "folder")
    assert (checked.device, checked.inode) == (status.st_dev, status.st_ino)
    assert check_path(str(root / "config.json"), "key", "file").findings == []


def test_a_missing_path_names_the_first_missing_part_and_what_stands_next_to_it(tree) -> None:
    root = tree("data/train.parquet")
    found = one_finding(root / "data/trian.parquet", "ARL300")
    assert found.hint == f"{root}/data/train.parquet exists"
    found = one_finding(root / "nowhere/at/all", "ARL300")
    assert f"{root}/nowhere does not exist" in found.message
    assert str(root) in found.hint


def test_a_file_in_the_middle_of_a_path(tree) -> None:
    root = tree("file")
    found = one_finding(root / "file/below", "ARL300")
    assert f"{root}/file is a file" in found.message


@pytest.mark.parametrize("path", ["{}", "{}/", "{}//", "{}/.", "{}/./", "/{}", "//{}", "/.{}"])
def test_a_link_is_refused_however_its_path_is_written(tree, path: str) -> None:
    root = tree("real/file")
    (root / "link").symlink_to("real")
    found = one_finding(path.format(f"{root}/link"), "ARL303")
    assert found.hint == f"key: {root}/real"


def test_a_broken_link_and_a_loop_are_told_apart(tree) -> None:
    root = tree("file")
    (root / "broken").symlink_to("nowhere")
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    assert "broken symbolic link" in one_finding(root / "broken", "ARL303").message
    assert "broken symbolic link" in one_finding(root / "broken/below", "ARL303").message
    assert "leads back to itself" in one_finding(root / "one", "ARL303").message
    assert "leads back to itself" in one_finding(root / "one/below", "ARL303").message


def test_a_link_among_the_parents_is_a_warning_with_the_real_path(tree) -> None:
    root = tree("real/file")
    (root / "link").symlink_to("real")
    check = check_path(f"{root}/link/file", "verl.train_files")
    assert [(one.code, one.severity) for one in check.findings] == [("ARL304", "warning")]
    assert check.findings[0].hint == f"train_files: {root}/real/file"
    assert check.checked is not None


def test_dots_in_a_path_are_no_links(tree) -> None:
    root = tree("a/file")
    assert codes(f"{root}/a/../a/./file") == []
    assert codes(f"{root}/a/..") == codes(f"/{root}//a/.") == []


def test_a_link_below_is_named_with_how_many_more(tree) -> None:
    root = tree("blobs/0", "snapshot/config.json")
    for name in ("b", "a", "c"):
        (root / "snapshot" / name).symlink_to("../blobs/0")
    found = one_finding(root, "ARL303")
    assert f"{root}/snapshot/a is a symbolic link (and 2 more)" in found.message
    assert f"cp -rL {root} " in found.hint


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o660, 0o440, 0o000, 0o1640, 0o4640, 0o2640])
def test_every_other_mode_of_a_file_is_named(tree, mode: int) -> None:
    file = tree("file") / "file"
    file.chmod(mode)
    found = one_finding(file, "ARL306")
    assert f"mode {mode:o}; a file must have mode 640" in found.message
    assert found.hint.startswith(f"chmod 640 {file}")


@pytest.mark.parametrize("mode", [0o755, 0o700, 0o770, 0o1750])
def test_every_other_mode_of_a_folder_is_named(tree, mode: int) -> None:
    root = tree("a/file")
    (root / "a").chmod(mode)
    assert f"{root}/a has mode {mode:o}; a folder must have mode 750" in one_finding(root, "ARL305").message
    assert f"mode {mode:o}" in one_finding(root / "a", "ARL305").message


def test_the_first_offender_in_alphabetical_order_is_named_with_how_many_more(tree) -> None:
    root = tree(*[f"{folder}/{name}" for folder in "dacb" for name in "zyx"])
    for path in root.rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    folder, file = check_path(str(root), "key").findings
    assert (folder.code, file.code) == ("ARL305", "ARL306")
    assert f"{root}/a has mode 755 (and 3 more)" in folder.message
    assert f"{root}/a/x has mode 644 (and 11 more)" in file.message


@pytest.mark.parametrize(
    "name", ["plain", "with space", "quote'and\"double", "new\nline", "bell\x07", "-rf", "$HOME x"]
)
def test_the_commands_of_the_hint_fix_what_was_found(root: Path, name: str) -> None:
    folder = root / name
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/file").touch()
    for path, mode in [(folder, 0o755), (folder / "sub", 0o2755), (folder / "sub/file", 0o666)]:
        path.chmod(mode)
    if "$HOME" in name:
        assert codes(folder) == ["ARL302"]
        return
    hint = check_path(str(folder), "key").findings[0].hint
    subprocess.run(["bash", "-c", hint], check=True)
    assert codes(folder) == []


def test_the_hint_for_a_folder_that_holds_the_home_folder_is_no_command(root: Path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(root / "home/me"))
    (root / "home/me").mkdir(parents=True)
    hints = [one.hint for one in check_path(str(root), "key").findings]
    assert hints == ["it holds your home folder; name a folder further down"]


def test_file_and_folder_are_told_apart(tree) -> None:
    root = tree("file")
    assert "is a folder; a file is wanted" in one_finding(root, "ARL308", "file").message
    found = one_finding(root / "file", "ARL308", "folder")
    assert found.hint == f"key: {root}"
    assert codes(root, "folder") == codes(root / "file", "file") == []


def test_pipes_sockets_and_devices_are_refused(tree, monkeypatch) -> None:
    root = tree("file")
    os.mkfifo(root / "pipe", 0o640)
    assert one_finding(root / "pipe", "ARL308", "file").hint
    monkeypatch.chdir(root)  # a socket's path has at most 107 characters
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        found = one_finding(root, "ARL308")
    assert f"{root}/pipe is neither a file nor a folder (and 1 more)" in found.message
    assert codes("/dev/null") == ["ARL308"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_owner_is_named_as_seen_by_root(tree) -> None:
    root = tree("a/mine", "a/theirs", "b/theirs")
    for folder in "ab":
        os.chown(root / folder / "theirs", 4321, 4321)
    found = one_finding(root, "ARL307")
    assert f"{root}/a/theirs belongs to uid 4321 (and 1 more)" in found.message
    assert found.hint.startswith(f"sudo chown -R root {root}")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave a file of root's in an ordinary user's folder")
def test_a_file_of_another_owner_is_named_as_seen_by_an_ordinary_user(ordinary_folder, run_as_ordinary_user) -> None:
    (ordinary_folder / "file").touch()
    (ordinary_folder / "file").chmod(0o640)
    found = run_as_ordinary_user(
        "result = [[one.code, one.message] for one in check_path(str(folder), 'key').findings]"
    )
    assert found == [["ARL307", f"{ordinary_folder}/file belongs to root; the owner must be the current user"]]


def test_an_unreadable_folder_is_a_finding_for_an_ordinary_user(run_as_ordinary_user) -> None:
    found = run_as_ordinary_user(
        """
(folder / "shut").mkdir(0o750); (folder / "open").mkdir(0o750)
(folder / "shut/file").touch(0o640); (folder / "open/file").touch(0o640)
for path in folder.rglob("*"): path.chmod(0o750 if path.is_dir() else 0o640)
(folder / "shut").chmod(0o000)
result = [[(one.code, one.message) for one in check_path(str(path), "key").findings]
          for path in (folder, folder / "shut", folder / "shut/file")]
"""
    )
    assert [[code for code, _ in one] for one in found] == [["ARL305", "ARL309"], ["ARL305", "ARL309"], ["ARL309"]]
    assert "/shut can't be read: Permission denied" in found[0][1][1]
    assert "/shut/file can't be looked at: Permission denied" in found[2][0][1]


def test_a_folder_that_lists_but_can_not_be_entered(run_as_ordinary_user) -> None:
    found = run_as_ordinary_user(
        """
for name in "abc": (folder / name).touch()
folder.chmod(0o640)
result = [(one.code, one.message) for one in check_path(str(folder), "key").findings]
"""
    )
    assert [code for code, _ in found] == ["ARL305", "ARL309"]
    assert "/a can't be read: Permission denied (and 2 more)" in found[1][1]


def test_a_file_that_vanishes_while_it_is_read_is_a_finding(tree, monkeypatch) -> None:
    root = tree("a", "b")
    lists = os.scandir

    def listed_then_removed(folder):
        entries = list(lists(folder))
        (root / "a").unlink()
        return _Entries(entries)

    monkeypatch.setattr(os, "scandir", listed_then_removed)
    found = one_finding(root, "ARL312")
    assert f"{root}/a vanished" in found.message


@pytest.mark.parametrize("other", ["link", "folder"])
def test_a_folder_that_is_swapped_while_it_is_read_is_a_finding_and_not_entered(tree, monkeypatch, other: str) -> None:
    root = tree("inside/a/file")
    outside = root.parent / "outside"
    outside.mkdir(0o777)
    (outside / "bad-mode").touch(0o666)
    opens = os.open

    def swapped_then_opened(name, flags, *args, **kwargs):
        if name == "a":
            (root / "inside/a").rename(root.parent / "away")
            if other == "link":
                (root / "inside/a").symlink_to(outside)
            else:
                outside.rename(root / "inside/a")
        return opens(name, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", swapped_then_opened)
    found = one_finding(root, "ARL312")
    assert f"{root}/inside/a vanished or was replaced" in found.message


def test_a_folder_too_deep_is_a_finding(root: Path) -> None:
    deep = root
    for _ in range(walk.MAX_LEVELS + 1):
        deep = deep / "d"
        deep.mkdir()
        deep.chmod(0o750)
    assert codes(root) == ["ARL314"]
    deep.rmdir()
    assert codes(root) == []


def test_a_folder_with_too_many_files_is_a_finding(tree, monkeypatch) -> None:
    root = tree("a", "b", "c")
    monkeypatch.setattr(walk, "MAX_ENTRIES", 3)
    assert codes(root) == []
    monkeypatch.setattr(walk, "MAX_ENTRIES", 2)
    assert codes(root) == ["ARL314"]


def test_a_name_that_is_not_utf8_gives_printable_messages(root: Path) -> None:
    bad = os.fsencode(root) + b"/caf\xe9"
    Path(os.fsdecode(bad)).touch()
    found = one_finding(root, "ARL306")
    assert found.message.isprintable()
    assert "caf\\udce9" in found.message
    assert one_finding(os.fsdecode(bad), "ARL306").message.isprintable()


def test_a_prefix_means_the_files_that_begin_with_it(tree) -> None:
    root = tree("rl_packed_input.bin", "rl_packed_input.idx", "other.bin", "rl_cache/file")
    (root / "rl_cache").chmod(0o755)
    assert prefix_files(f"{root}/rl") == [f"{root}/rl_packed_input.{ending}" for ending in ("bin", "idx")]
    assert check_prefix(f"{root}/rl", "data_path").findings == []
    (root / "rl_packed_input.idx").chmod(0o600)
    (root / "other.bin").chmod(0o600)
    findings = check_prefix(f"{root}/rl", "data_path").findings
    assert [(one.code, shlex.split(one.hint)[2]) for one in findings] == [("ARL306", f"{root}/rl_packed_input.idx")]
    assert [one.code for one in check_prefix(f"{root}/rl/", "data_path").findings] == ["ARL300"]
    assert [one.code for one in check_prefix("rl", "data_path").findings] == ["ARL301"]
    assert [one.code for one in check_prefix(f"{root}/other.bin", "data_path").findings] == ["ARL306"]
    assert [one.code for one in check_prefix(f"{root}/no/rl", "data_path").findings] == ["ARL300"]


def test_a_copy_as_the_hint_says_has_no_links(tree) -> None:
    root = tree("blobs/0")
    (root / "snap").symlink_to("blobs")
    hint = one_finding(root, "ARL303").hint.replace("COPY", str(root.parent / "copy"))
    subprocess.run(["bash", "-c", hint], check=True)
    assert "ARL303" not in codes(root.parent / "copy")
    shutil.rmtree(root.parent / "copy")


class _Entries(list):
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None
