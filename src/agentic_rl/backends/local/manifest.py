"""The list of a checkpoint's files with sizes and hashes: what tells a whole checkpoint from a torn one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NAME = "manifest.json"
FORMAT = 1
CHUNK_BYTES = 1 << 20


class TornCheckpointError(ValueError):
    """A checkpoint that lacks files or holds others than were written."""


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
            TornCheckpointError: there is none, or it isn't one.
        """
        try:
            raw: dict[str, Any] = json.loads((folder / NAME).read_text(encoding="utf-8"))
            files = {name: (int(size), str(digest)) for name, (size, digest) in raw["files"].items()}
            return cls(int(raw["step"]), list(raw["content"]), files)
        except OSError as error:
            raise TornCheckpointError(f"no readable {NAME} ({error.strerror})") from error
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TornCheckpointError(f"{NAME} is damaged") from error

    def verify(self, folder: Path) -> None:
        """Compare every file with the manifest.

        Raises:
            TornCheckpointError: names the first file that differs.
        """
        for name, (size, _) in self.files.items():
            there = _size(folder / name)
            if there != size:
                raise TornCheckpointError(f"{name} has {there} bytes instead of {size}")
        for name, (_, digest) in self.files.items():
            if _sha256(folder / name) != digest:
                raise TornCheckpointError(f"{name} has another content than was written")


def _size(path: Path) -> int:
    """In bytes; a missing file has none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
