"""The list of a local checkpoint's files with sizes and hashes: what tells a whole checkpoint from a torn one.

The local backend writes it and asks it before it goes on; a check asks it what the run will do.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO

NAME = "manifest.json"
FORMAT = 1
CHUNK_BYTES = 1 << 20
MAX_BYTES = 1 << 24
"""Of a manifest; one has about a hundred bytes for each file."""
NEEDED = (("model", "hf_model"), ("optimizer",), ("extra",))
"""Items of `ckpt_content`: one of each is needed to go on."""


def lacking(content: Collection[str]) -> list[str]:
    """What a checkpoint with the items `content` lacks for going on from it."""
    return [either[0] for either in NEEDED if not any(item in content for item in either)]


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
                text = _bounded(folder / NAME)
            raw: dict[str, Any] = json.loads(text)
            files = {name: (int(size), str(digest)) for name, (size, digest) in raw["files"].items()}
            return cls(int(raw["step"]), list(raw["content"]), files)
        except TornCheckpointError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise TornCheckpointError(f"{NAME} is damaged") from error

    def verify(self, folder: Path, *, contents: bool = True) -> None:
        """Compare every file with the manifest; without `contents` its size alone, and whether it can be opened.

        Raises:
            TornCheckpointError: names the first file that differs, can't be read or is a symbolic link.
        """
        for name, (size, _) in self.files.items():
            with readable(folder / name):
                there = _size(folder / name)
            if there != size:
                raise TornCheckpointError(f"{name} has {there} bytes instead of {size}")
        for name, (_, digest) in self.files.items() if contents else ():
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


def whole(folder: Path, step: int, *, contents: bool = True) -> Manifest:
    """The manifest of the checkpoint of `step` in `folder`, which was compared with it (see `Manifest.verify`).

    Raises:
        TornCheckpointError: it is not what was written, can't be read, or is a symbolic link.
    """
    with readable(folder):
        manifest = Manifest.read(folder)
    if manifest.step != step:
        raise TornCheckpointError(f"{NAME} is that of step {manifest.step}")
    manifest.verify(folder, contents=contents)
    return manifest


def _size(path: Path) -> int:
    """In bytes; a missing file has none."""
    try:
        with _opened(path) as file:
            return os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return 0


def _bounded(path: Path) -> bytes:
    with _opened(path) as file:
        text = file.read(MAX_BYTES + 1)
    if len(text) > MAX_BYTES:
        raise TornCheckpointError(f"{path.name} is larger than any manifest")
    return text


def _opened(path: Path) -> BinaryIO:
    """Open a regular file; a pipe in its place must not make us wait for a writer."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if not S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError("it is no regular file")
    return file


def _sha256(path: Path) -> str:
    import hashlib  # here: a check hashes nothing, and OpenSSL takes its time to load

    digest = hashlib.sha256()
    with _opened(path) as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
