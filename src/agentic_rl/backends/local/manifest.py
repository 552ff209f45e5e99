"""The list of a checkpoint's files with sizes and hashes: what tells a whole checkpoint from a torn one."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "manifest.json"
FORMAT = 1
CHUNK_BYTES = 1 << 20


class TornCheckpointError(ValueError):
    """A checkpoint that lacks files, holds others than were written, or can't be read."""


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint holds. It is the last file to be written."""

    step: int
    content: list[str]
    """The items of `ckpt_content` that were saved."""
    files: dict[str, tuple[int, str]]
    """File name -> size in bytes and SHA-256."""

    @classmethod
    def of(cls, folder: Path, step: int, content: list[str]) -> Manifest:
        """Describe the files that lie in `folder`."""
        files = {path.name: (path.stat().st_size, _sha256(path)) for path in sorted(folder.iterdir())}
        return cls(step, content, files)

    def to_json(self) -> str:
        """The text of the manifest file."""
        return json.dumps({"format": FORMAT, **vars(self)}, indent=1) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of a checkpoint.

        Raises:
            TornCheckpointError: there is none, it can't be read, or it isn't one.
        """
        try:
            with readable(folder / NAME):
                text = (folder / NAME).read_text(encoding="utf-8")
            raw: dict[str, Any] = json.loads(text)
            files = {name: (int(size), str(digest)) for name, (size, digest) in raw["files"].items()}
            return cls(int(raw["step"]), list(raw["content"]), files)
        except TornCheckpointError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TornCheckpointError(f"{NAME} is damaged") from error

    def verify(self, folder: Path) -> None:
        """Compare every file with the manifest.

        Raises:
            TornCheckpointError: names the first file that differs, can't be read or is a symbolic link.
        """
        for name, (size, _) in self.files.items():
            with readable(folder / name):
                there = _size(folder / name)
            if there != size:
                raise TornCheckpointError(f"{name} has {there} bytes instead of {size}")
        for name, (_, digest) in self.files.items():
            with readable(folder / name):
                there_digest = _sha256(folder / name)
            if there_digest != digest:
                raise TornCheckpointError(f"{name} has another content than was written")


@contextlib.contextmanager
def readable(path: Path) -> Iterator[None]:
    """Tell of what can't be read, and of what only points elsewhere, as of a torn checkpoint.

    Raises:
        TornCheckpointError: `path` is a symbolic link, which nothing here writes, or reading it failed.
    """
    try:
        if path.is_symlink():
            raise TornCheckpointError(
                f"{path.name} is a symbolic link; another experiment's checkpoint must not count as this one's"
            )
        yield
    except OSError as error:
        raise TornCheckpointError(f"{path.name} can't be read: {error.strerror or error}") from error


def _size(path: Path) -> int:
    """In bytes; a missing file has none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
