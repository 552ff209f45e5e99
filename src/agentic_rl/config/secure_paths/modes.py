"""The two modes of the path policy, and setting them without following a link."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = 0o750
FILE = 0o640


def handle(name: str, folder: int | None = None) -> int:
    """A descriptor of `name` itself (in the open `folder`), whatever its mode; of the link where it is one.

    On systems without O_PATH the file is opened for reading instead, so a link or an unreadable file is an error.
    """
    flags = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
    return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)


def set_mode(descriptor: int, mode: int) -> None:
    """Set the mode of what a `handle` holds, wherever it has been moved to since."""
    if hasattr(os, "O_PATH"):
        # fchmod refuses such a descriptor; its entry in /proc is a link to exactly this inode.
        Path(f"/proc/self/fd/{descriptor}").chmod(mode)
    else:
        os.fchmod(descriptor, mode)
