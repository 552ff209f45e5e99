from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from agentic_rl.config.manifest import NAME, Manifest, TornCheckpointError, lacking


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "weights").write_bytes(b"12345")
    (tmp_path / "config").write_bytes(b"{}")
    manifest = Manifest.of(tmp_path, 7, ["model"])
    (tmp_path / NAME).write_text(manifest.to_json())
    return tmp_path


def test_a_whole_folder_is_as_its_manifest_says(folder: Path) -> None:
    manifest = Manifest.read(folder)
    assert (manifest.step, manifest.content, set(manifest.files)) == (7, ["model"], {"weights", "config"})
    assert manifest.files["weights"][0] == 5
    manifest.verify(folder)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"1234", "weights has 4 bytes instead of 5"), (b"12346", "weights has another content than was written")],
)
def test_a_file_that_changed_is_named(content: bytes, message: str, folder: Path) -> None:
    (folder / "weights").write_bytes(content)
    with pytest.raises(TornCheckpointError, match=message):
        Manifest.read(folder).verify(folder)


def test_a_file_that_is_gone_is_named(folder: Path) -> None:
    (folder / "weights").unlink()
    with pytest.raises(TornCheckpointError, match="weights has 0 bytes instead of 5"):
        Manifest.read(folder).verify(folder)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"step": 1, "content": [], "files": {"a": 1}}', "null", "1"])
def test_a_damaged_manifest_is_torn(text: str, folder: Path) -> None:
    (folder / NAME).write_text(text)
    with pytest.raises(TornCheckpointError, match=f"{NAME} is damaged"):
        Manifest.read(folder)


def test_a_missing_manifest_is_torn(folder: Path) -> None:
    (folder / NAME).unlink()
    with pytest.raises(TornCheckpointError, match=f"{NAME} can't be read: No such file"):
        Manifest.read(folder)


def test_a_file_that_cannot_be_read_is_torn(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **keywords: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    manifest = Manifest.read(folder)
    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(TornCheckpointError, match="config can't be read: Permission denied"):
        manifest.verify(folder)


@pytest.mark.parametrize("name", ["weights", NAME])
def test_a_link_is_torn_even_if_its_target_is_right(name: str, folder: Path, tmp_path: Path) -> None:
    target = tmp_path.parent / f"elsewhere_{name}"
    (folder / name).rename(target)
    (folder / name).symlink_to(target)
    with pytest.raises(TornCheckpointError, match=f"{name} is a symbolic link"):
        Manifest.read(folder).verify(folder)


def test_without_the_contents_only_sizes_are_compared(folder: Path) -> None:
    (folder / "weights").write_bytes(b"54321")
    Manifest.read(folder).verify(folder, contents=False)
    (folder / "weights").write_bytes(b"1")
    with pytest.raises(TornCheckpointError, match="weights has 1 bytes instead of 5"):
        Manifest.read(folder).verify(folder, contents=False)


@pytest.mark.parametrize("name", ["weights", NAME])
def test_a_pipe_is_torn_and_not_waited_for(name: str, folder: Path) -> None:
    manifest = Manifest.read(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(TornCheckpointError, match=f"{name} can't be read: it is no regular file"):
        manifest.verify(folder) if name == "weights" else Manifest.read(folder)


def test_a_manifest_is_read_within_bounds(folder: Path) -> None:
    with (folder / NAME).open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TornCheckpointError, match="larger than any manifest"):
        Manifest.read(folder)


def test_what_is_lacking_to_go_on() -> None:
    assert lacking(["hf_model", "optimizer", "extra"]) == lacking(["model", "optimizer", "extra"]) == []
    assert lacking(["hf_model"]) == ["optimizer", "extra"]
    assert lacking([]) == ["model", "optimizer", "extra"]
