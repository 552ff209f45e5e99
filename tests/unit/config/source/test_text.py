"""The file itself: missing, of another kind, unreadable, too large, vanishing. Nothing blocks, nothing raises."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from agentic_rl.config.source import Document, read
from agentic_rl.config.source.text import position


def only_finding(document: Document) -> tuple[str, str, str]:
    (finding,) = document.findings
    assert not document.whole
    assert document.tree == {}
    assert (finding.severity, finding.file, finding.key) == ("error", document.file, "")
    return finding.code, finding.message, finding.hint


def test_a_file_is_read_with_its_name_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "c.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    monkeypatch.chdir(tmp_path)
    document = read("c.yaml")
    assert (document.tree, document.findings) == ({"a": 1}, [])
    assert document.places["a"].file == "c.yaml"
    assert read(tmp_path / "c.yaml").tree == {"a": 1}


def test_a_missing_file(tmp_path: Path) -> None:
    code, message, hint = only_finding(read(tmp_path / "no.yaml"))
    assert (code, message) == ("ARL001", f"there is no file {tmp_path / 'no.yaml'}")
    assert hint == "check the path, and the folder it is relative to"


def test_a_missing_file_with_a_neighbour_of_another_ending(tmp_path: Path) -> None:
    (tmp_path / "config.yml").write_text("a: 1\n")
    assert only_finding(read(tmp_path / "config.yaml"))[2] == f"check the path; there is {tmp_path / 'config.yml'}"


def test_a_folder_and_the_configuration_in_it(tmp_path: Path) -> None:
    assert only_finding(read(tmp_path))[1:] == (f"{tmp_path} is a folder, not a file", "give the path of a YAML file")
    for name in (".hidden.yaml", "a.yaml", "config.yaml"):
        (tmp_path / name).write_text("a: 1\n")
    assert only_finding(read(tmp_path))[2] == f"give the path of a YAML file, e.g. {tmp_path / 'config.yaml'}"


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert only_finding(read(tmp_path / "pipe"))[1] == f"{tmp_path / 'pipe'} is a named pipe, not a file"


def test_a_pipe_that_takes_the_files_place_does_not_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a: 1\n")
    opened = os.open

    def swapped(name: Any, flags: int, *more: Any) -> int:
        path.unlink()
        os.mkfifo(path)
        return opened(name, flags, *more)

    monkeypatch.setattr(os, "open", swapped)
    assert only_finding(read(path))[1] == f"{path} is a named pipe, not a file"


def test_a_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("s")
        assert only_finding(read("s"))[1] == "s is a socket, not a file"


@pytest.mark.parametrize("device", ["/dev/null", "/dev/zero", "/dev/tty"])
def test_a_device_is_not_opened(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path(device).exists():
        pytest.skip(f"there is no {device}")
    monkeypatch.setattr(os, "open", None)
    assert only_finding(read(device))[1] == f"{device} is a device, not a file"


def test_an_unreadable_file_as_an_ordinary_user(run_as_ordinary_user: Callable[[str], Any]) -> None:
    code, message, hint = run_as_ordinary_user(
        "path = folder / 'c.yaml'; path.write_text('a: 1'); path.chmod(0)\n"
        "(finding,) = load(path, environ={}).report\n"
        "result = [finding.code, finding.message.replace(str(folder), ''), finding.hint]"
    )
    assert (code, message) == ("ARL001", "/c.yaml can't be read: permission denied")
    assert hint == "chmod 640 the file, 750 its folders"


def test_what_the_system_refuses_to_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a: 1\n")

    def refuse(*_: Any) -> int:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "open", refuse)
    assert only_finding(read(path))[1] == f"{path} can't be read: permission denied"


def test_a_file_that_vanishes_between_look_and_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a: 1\n")
    opened = os.open

    def too_late(*arguments: Any) -> int:
        path.unlink()
        return opened(*arguments)

    monkeypatch.setattr(os, "open", too_late)
    assert only_finding(read(path))[:2] == ("ARL001", f"there is no file {path}")


def test_a_broken_link_and_a_loop(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    message = f"{tmp_path / 'broken'} is a broken symbolic link to {tmp_path / 'nowhere'}"
    assert only_finding(read(tmp_path / "broken"))[:2] == ("ARL001", message)
    assert "can't be read" in only_finding(read(tmp_path / "loop"))[1]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "no file is named"),
        ("a\0b", "'a\\x00b' can't be the name of a file"),
        ("\ud800", "'\\ud800' can't be the name of a file"),
        ("x" * 300, "can't be read: file name too long"),
        ("/dev/null/x", "/dev/null/x can't be read: not a directory"),
    ],
)
def test_what_can_be_no_path(path: str, message: str) -> None:
    code, found, _ = only_finding(read(path))
    assert code == "ARL001"
    assert message in found


def test_a_large_file_is_refused_without_being_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: reading it would exhaust the memory
    code, message, _ = only_finding(read(path))
    assert (code, message) == (
        "ARL002",
        f"{1 << 40} bytes; a configuration has at most 1048576 (1 MiB), so it was not read",
    )


def test_a_file_that_claims_to_be_empty_is_read_to_the_limit_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "c.yaml").write_bytes(b"#" * (2 << 20))
    claimed = (tmp_path / "empty").stat()  # as the files of /proc do
    monkeypatch.setattr(os, "fstat", lambda _: claimed)
    assert only_finding(read(tmp_path / "c.yaml"))[1].startswith("1048577 bytes")


def test_an_opener_is_used_and_its_refusal_is_a_finding(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a: 1\n")
    assert read("as given.yaml", lambda: path.open("rb")).tree == {"a": 1}

    def changed() -> BinaryIO:
        raise OSError("ARL313 c.yaml changed after it was checked")

    assert only_finding(read(path, changed))[1] == f"{path} can't be read: ARL313 c.yaml changed after it was checked"


@pytest.mark.parametrize(
    ("text", "index", "line", "column"),
    [("abc", 2, 1, 3), ("a\nb", 2, 2, 1), ("a\r\nb", 3, 2, 1), ("a\rb", 2, 2, 1), ("\n\nab", 3, 3, 2)],
)
def test_positions(text: str, index: int, line: int, column: int) -> None:
    assert position(text, index) == (line, column)
