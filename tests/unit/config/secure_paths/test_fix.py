import os
from pathlib import Path
from stat import S_IMODE

import pytest

from agentic_rl.config.secure_paths import check_path, fix_permissions, modes, walk
from agentic_rl.config.secure_paths import fix as fix_module


def lines(*paths: Path | str) -> list[str]:
    return [str(fix) for fix in fix_permissions([str(path) for path in paths])]


def mode(path: Path) -> int:
    return S_IMODE(path.lstat().st_mode)


def test_a_tree_is_fixed_and_the_check_passes_then(tree) -> None:
    root = tree("a/b/file", "good")
    (root / "a").chmod(0o2777)
    (root / "a/b/file").chmod(0o4755)
    assert lines(root) == [f"chmod 750 {root}/a (was 2777)", f"chmod 640 {root}/a/b/file (was 4755)"]
    assert check_path(str(root), "key").findings == []
    assert lines(root) == []


def test_a_single_file_and_a_folder_named_with_a_slash(tree) -> None:
    root = tree("a/file", "file")
    for path in (root / "a", root / "a/file", root / "file"):
        path.chmod(0o700)
    assert lines(f"{root}/file") == [f"chmod 640 {root}/file (was 700)"]
    assert lines(f"{root}/a/") == [f"chmod 750 {root}/a (was 700)", f"chmod 640 {root}/a/file (was 700)"]


def test_links_are_left_and_never_followed(tree) -> None:
    root = tree("in/file", "out/file")
    (root / "out").chmod(0o755)
    (root / "out/file").chmod(0o644)
    (root / "in/to-file").symlink_to("../out/file")
    (root / "in/to-folder").symlink_to("../out")
    (root / "in/broken").symlink_to("nowhere")
    names = ["broken", "to-file", "to-folder"]
    assert lines(root / "in") == [f"left {root}/in/{name}: it is a symbolic link" for name in names]
    for ending in ("", "/", "/."):
        assert lines(f"{root}/in/to-folder{ending}") == [f"left {root}/in/to-folder: it is a symbolic link"]
    assert (mode(root / "out"), mode(root / "out/file")) == (0o755, 0o644)


def test_a_file_with_a_second_name_is_left(tree) -> None:
    root = tree("in/file", "out/private")
    (root / "out/private").chmod(0o600)
    os.link(root / "out/private", root / "in/private")
    (line,) = lines(root / "in")
    assert line.startswith(f"left {root}/in/private: it has 2 names (hard links)")
    assert mode(root / "out/private") == 0o600


def test_pipes_are_left(root: Path) -> None:
    os.mkfifo(root / "pipe", 0o600)
    assert lines(root) == [f"left {root}/pipe: it is neither a file nor a folder"]


@pytest.mark.parametrize("path", ["relative", "~/x", "$HOME/x", "", "/a\0b"])
def test_what_the_policy_would_not_read_is_not_touched(path: str) -> None:
    (fix,) = fix_permissions([path])
    assert (fix.path, fix.after) == (path, None)
    assert fix.reason


def test_a_missing_path_is_said(root: Path) -> None:
    assert lines(root / "nowhere") == [f"left {root}/nowhere: No such file or directory"]


@pytest.mark.parametrize("path", ["/", "/.", "//", "HOME", "PARENT"])
def test_a_tree_that_holds_the_home_folder_is_not_touched(tree, monkeypatch, path: str) -> None:
    root = tree("me/key")
    (root / "me/key").chmod(0o600)
    monkeypatch.setenv("HOME", str(root / "me"))
    named = {"HOME": str(root / "me"), "PARENT": str(root)}.get(path, path)
    # A check of "/" that failed here would be a catastrophe: let nothing be changed whatever happens.
    monkeypatch.setattr(modes, "set_mode", lambda *_: pytest.fail("a mode was set"))
    (line,) = lines(named)
    assert "it holds your home folder" in line
    assert lines(root / "me/..") == [f"left {root}/me/..: it holds your home folder; name a folder further down"]


def test_the_python_that_runs_is_not_touched(monkeypatch) -> None:
    import sys

    monkeypatch.setattr(modes, "set_mode", lambda *_: pytest.fail("a mode was set"))
    assert "holds the Python that runs this" in lines(Path(sys.prefix).resolve())[0]


def test_a_path_named_twice_is_fixed_once(tree) -> None:
    root = tree("file")
    (root / "file").chmod(0o600)
    assert len(lines(root / "file", root / "file", root)) == 1


def test_a_tree_too_deep_is_fixed_as_far_as_the_check_looks(root: Path) -> None:
    deep = root
    for _ in range(walk.MAX_LEVELS + 1):
        deep = deep / "d"
        deep.mkdir()
        deep.chmod(0o755)
    fixes = fix_permissions([str(root)])
    assert len(fixes) == walk.MAX_LEVELS + 1
    assert "more than 100 levels" in fixes[-1].reason


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to another user")
def test_a_file_of_another_owner_is_left_by_root(tree) -> None:
    root = tree("theirs/mine", "file")
    (root / "theirs/mine").chmod(0o600)
    (root / "theirs").chmod(0o777)
    os.chown(root / "theirs", 4321, 4321)
    assert lines(root) == [
        f"left {root}/theirs: it belongs to uid 4321",
        f"chmod 640 {root}/theirs/mine (was 600)",
    ]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave a file of root's in an ordinary user's folder")
def test_a_file_of_another_owner_is_left_by_an_ordinary_user(ordinary_folder, run_as_ordinary_user) -> None:
    (ordinary_folder / "file").touch(0o600)
    result = run_as_ordinary_user("result = [str(fix) for fix in fix_permissions([str(folder)])]")
    assert result == [f"left {ordinary_folder}/file: it belongs to root"]


def test_an_ordinary_user_can_fix_what_he_can_not_read(ordinary_folder, run_as_ordinary_user) -> None:
    result = run_as_ordinary_user(
        """
(folder / "a/b").mkdir(parents=True)
(folder / "a/b/file").touch()
for name in ("a/b/file", "a/b", "a"): (folder / name).chmod(0o000)
fixes = [str(fix) for fix in fix_permissions([str(folder)])]
result = [fixes, [one.code for one in check_path(str(folder), "key").findings]]
"""
    )
    wanted = ["chmod 750 {}/a (was 0)", "chmod 750 {}/a/b (was 0)", "chmod 640 {}/a/b/file (was 0)"]
    assert result == [[line.format(ordinary_folder) for line in wanted], []]


def test_a_file_swapped_for_a_link_between_look_and_change(tree, monkeypatch) -> None:
    root = tree("in/file", "out/secret")
    (root / "in/file").chmod(0o644)
    (root / "out/secret").chmod(0o600)
    sets = modes.set_mode

    def swapped_then_set(descriptor: int, wanted: int) -> None:
        (root / "in/file").rename(root / "moved")
        (root / "in/file").symlink_to(root / "out/secret")
        sets(descriptor, wanted)

    monkeypatch.setattr(modes, "set_mode", swapped_then_set)
    fix_permissions([str(root / "in")])
    assert mode(root / "out/secret") == 0o600
    assert mode(root / "moved") == 0o640


def test_a_folder_swapped_for_a_link_between_look_and_entry(tree, monkeypatch) -> None:
    root = tree("in/a/file", "out/secret")
    (root / "out/secret").chmod(0o600)
    fixes_one = fix_module._fix_one

    def fixed_then_swapped(held, status, path):
        result = fixes_one(held, status, path)
        if path.endswith("/a"):
            (root / "in/a").rename(root / "moved")
            (root / "in/a").symlink_to(root / "out")
        return result

    monkeypatch.setattr(fix_module, "_fix_one", fixed_then_swapped)
    fix_permissions([str(root / "in")])
    assert (root / "in/a").is_symlink()
    assert mode(root / "out/secret") == 0o600


def test_without_o_path_files_are_opened_for_reading(tree, monkeypatch) -> None:
    root = tree("a/file", "out/secret")
    (root / "a").chmod(0o755)
    (root / "a/file").chmod(0o644)
    (root / "out/secret").chmod(0o600)
    (root / "a/link").symlink_to("../out/secret")
    monkeypatch.delattr(os, "O_PATH")
    assert lines(root / "a") == [
        f"chmod 750 {root}/a (was 755)",
        f"chmod 640 {root}/a/file (was 644)",
        f"left {root}/a/link: Too many levels of symbolic links",
    ]
    assert mode(root / "out/secret") == 0o600
