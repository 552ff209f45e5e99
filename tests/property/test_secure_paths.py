"""Random trees with random modes against a naive reading of the policy; swaps while it is checked and fixed."""

import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_IMODE
from unittest import mock

from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.config.secure_paths import check_path, fix_permissions, walk
from agentic_rl.config.writing import make_folder, replace_file

MODES = st.sampled_from([0o640, 0o750]) | st.integers(0, 0o7777)
NAMES = st.text(st.characters(exclude_characters="/\0$~", exclude_categories=["Cs"]), min_size=1, max_size=6).filter(
    lambda name: name not in (".", "..")
)
LEAVES = st.tuples(st.sampled_from(["file", "link", "linked folder", "hard link", "pipe"]), MODES)
TREES = st.recursive(LEAVES, lambda inner: st.tuples(st.dictionaries(NAMES, inner, max_size=4), MODES), max_leaves=12)


@contextmanager
def built(tree) -> Iterator[Path]:
    """The tree as `in/tree`, beside `out` with a file and a folder that links point to."""
    root = Path(tempfile.mkdtemp()).resolve()
    try:
        (root / "out/folder").mkdir(parents=True)
        for name in ("out/secret", "out/folder/secret"):
            (root / name).touch()
            (root / name).chmod(0o600)
        (root / "in").mkdir()
        build(root / "in/tree", tree, root / "out")
        yield root
    finally:
        for folder, names, _ in os.walk(root):
            for name in names:
                path = Path(folder, name)
                if not path.is_symlink():
                    path.chmod(0o700)
        shutil.rmtree(root)


def build(path: Path, node, out: Path) -> None:
    what, mode = node
    if isinstance(what, dict):
        path.mkdir()
        for name, inner in what.items():
            build(path / name, inner, out)
    elif what == "link":
        return path.symlink_to(out / "secret")
    elif what == "linked folder":
        return path.symlink_to(out / "folder")
    elif what == "hard link":
        return os.link(out / "secret", path)
    elif what == "pipe":
        os.mkfifo(path)
    else:
        path.touch()
    return path.chmod(mode)


def everything(root: Path) -> Iterator[Path]:
    yield root
    if root.is_dir() and not root.is_symlink():
        for folder, folders, files in os.walk(root):
            yield from (Path(folder, name) for name in folders + files)


def oracle(root: Path) -> dict[str, int]:
    """For each rule, how many entries break it (as root or as the owner of readable folders sees it)."""
    broken: dict[str, int] = {}
    for path in everything(root):
        mode = path.lstat().st_mode
        if path.is_symlink():
            code = "ARL303"
        elif path.is_dir():
            code = "" if S_IMODE(mode) == 0o750 else "ARL305"
        elif path.is_file():
            code = "" if S_IMODE(mode) == 0o640 else "ARL306"
        else:
            code = "ARL308"
        if code:
            broken[code] = broken.get(code, 0) + 1
    return broken


def found(path: Path) -> dict[str, int]:
    counts = {}
    for one in check_path(str(path), "key").findings:
        _, more, rest = one.message.partition(" (and ")
        counts[one.code] = 1 + (int(rest.split()[0]) if more else 0)
    return counts


def outside(root: Path) -> dict[Path, int]:
    return {path: S_IMODE(path.lstat().st_mode) for path in everything(root / "out")}


@given(TREES)
def test_the_check_agrees_with_a_naive_one(tree) -> None:
    with built(tree) as root:
        path = root / "in/tree"
        if os.geteuid() != 0:  # an ordinary user can't look into folders without these bits, and the oracle would not
            for folder in everything(path):
                if folder.is_dir() and not folder.is_symlink():
                    folder.chmod(S_IMODE(folder.stat().st_mode) | 0o500)
        assert found(path) == oracle(path)


@given(TREES)
def test_fixing_leaves_only_what_it_must_not_touch_and_nothing_outside_changes(tree) -> None:
    with built(tree) as root:
        path = root / "in/tree"
        before = outside(root)
        fixes = fix_permissions([str(path)])
        assert outside(root) == before
        left = [fix for fix in fixes if fix.after is None]
        assert all(fix.reason for fix in left)
        counts = oracle(path)
        hard_links = sum(fix.before is not None and "hard links" in fix.reason for fix in left)
        assert counts.pop("ARL306", 0) <= hard_links
        assert set(counts) <= {"ARL303", "ARL308"}
        assert [fix for fix in fix_permissions([str(path)]) if fix.after is not None] == []
        if not left:
            assert check_path(str(path), "key").findings == []


@given(st.text(max_size=40) | st.text("/.~$ab{}\0", max_size=20))
def test_no_text_makes_the_check_fail_otherwise_than_by_findings(value: str) -> None:
    with mock.patch.object(walk, "MAX_ENTRIES", 100):  # the text may be "/"
        check = check_path(value, "key")
    assert all(one.message.isprintable() and one.hint.isprintable() for one in check.findings)
    assert check.checked is None or value.startswith("/")


@given(st.lists(NAMES, min_size=1, max_size=5), st.integers(0, 0o777), st.binary(max_size=100))
def test_what_is_written_passes_the_check_under_any_umask(names: list[str], umask: int, content: bytes) -> None:
    with built(({}, 0o750)) as root:
        path = (root / "in/tree").joinpath(*names)
        before = os.umask(umask)
        try:
            with replace_file(make_folder(path) / "file") as file:
                file.write(content)
        finally:
            os.umask(before)
        assert check_path(str(root / "in/tree"), "key").findings == []
        assert (path / "file").read_bytes() == content


@contextmanager
def swapping(place: Path, real: Path, target: Path) -> Iterator[None]:
    """Swap what stands at `place` for a link to `target` and back, as fast as possible, in another thread."""
    link = place.with_name(f"{place.name}.link")
    link.symlink_to(target)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            place.rename(real)
            link.rename(place)
            place.rename(link)
            real.rename(place)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_a_file_and_a_folder_that_are_swapped_for_links_all_the_time() -> None:
    tree = {"a": ({"b": ({"file": ("file", 0o644)}, 0o755), "c": ("file", 0o644)}, 0o755)}
    with built((tree, 0o755)) as root:
        path, before = root / "in/tree", outside(root)
        changed = 0
        with (
            swapping(path / "a/c", root / "spare-file", root / "out/secret"),
            swapping(path / "a/b", root / "spare-folder", root / "out/folder"),
        ):
            for _ in range(300):
                fixes = fix_permissions([str(path)])
                changed += sum(fix.after is not None for fix in fixes)
                codes = {one.code for one in check_path(str(path), "key").findings}
                assert codes <= {"ARL303", "ARL305", "ARL306", "ARL312"}
                (path / "a").chmod(0o755)
        assert changed >= 300
        assert outside(root) == before
