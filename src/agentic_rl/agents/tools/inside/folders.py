"""Folders that code has filled, and that may be as deep as it liked."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path


def too_large(folder: str, most_files: int, most_bytes: int) -> bool:
    """Return whether a folder has more than it may, or is deeper than a path can be long."""
    size = count = 0
    try:
        for path, folders, names in os.walk(folder, onerror=_raise):
            count += len(folders) + len(names)
            if count > most_files:
                return True
            for name in names:
                with contextlib.suppress(FileNotFoundError):  # by now
                    size += os.lstat(f"{path}/{name}").st_blocks * 512
    except FileNotFoundError:
        return False  # a folder went while it was looked at; the next look sees more
    except (OSError, RecursionError):
        return True
    return size > most_bytes


def _raise(error: OSError) -> None:
    raise error


def remove(folder: str) -> None:
    """Remove a folder in which nobody writes any more; what can't be removed stays.

    Folders in it are emptied into it one after the other, so that it takes neither long paths nor recursion.
    """
    top = Path(folder)
    prefix, moved = secrets.token_hex(8), 0
    with contextlib.suppress(OSError):
        while entries := list(top.iterdir()):
            for entry in entries:
                if not _opened(entry):
                    entry.unlink()
                    continue
                for inner in entry.iterdir():
                    moved += 1
                    _opened(inner)
                    inner.rename(top / f"{prefix}{moved}")
                entry.rmdir()
        top.rmdir()


def _opened(path: Path) -> bool:
    """Return whether this is a folder; if so, it may be read and moved from now on."""
    if not stat.S_ISDIR(path.lstat().st_mode):
        return False
    path.chmod(0o700)
    return True
