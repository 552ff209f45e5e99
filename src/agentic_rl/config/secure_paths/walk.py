"""Everything below a folder, looked at through descriptors, so that no link is followed."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from stat import S_ISDIR

MAX_LEVELS = 100
MAX_ENTRIES = 1_000_000

Seen = os.stat_result | OSError
"""The status of an entry itself (never of a link's target), or why there is none."""
See = Callable[[str, Seen], None]
"""Gets the path of an entry relative to the walked folder, and its status."""


class TooLargeError(Exception):
    """The folder holds more than MAX_ENTRIES entries or goes deeper than MAX_LEVELS."""


def walk(path: str, inode: int, see: See) -> None:
    """Show `see` every entry below the folder at `path` (not the folder itself), which must still have this inode.

    Folders are shown before what they hold; files come in the file system's order. One descriptor and one list of
    subfolders are held per level, whatever the number of files.

    Raises:
        TooLargeError: see there; what was seen until then has been shown.
    """
    _Walk(see).enter(path, None, inode, "")


class _Walk:
    def __init__(self, see: See) -> None:
        self._see = see
        self._entries = 0

    def enter(self, name: str, parent: int | None, inode: int, path: str, level: int = 0) -> None:
        """Walk the folder `name` of the open folder `parent`; `path` is its place below the walked one."""
        if level > MAX_LEVELS:
            raise TooLargeError
        try:
            folder = _open_folder(name, parent, inode)
        except OSError as error:
            return self._see(path, error)
        try:
            prefix = f"{path}/" if path else ""
            for child, child_inode in sorted(self._scan(folder, path, prefix)):
                self.enter(child, folder, child_inode, prefix + child, level + 1)
        finally:
            os.close(folder)

    def _scan(self, folder: int, path: str, prefix: str) -> list[tuple[str, int]]:
        """Show every entry of one folder; return names and inodes of its subfolders."""
        subfolders: list[tuple[str, int]] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._count()
                    status = self._show(entry, prefix + entry.name)
                    if status and S_ISDIR(status.st_mode):
                        subfolders.append((entry.name, status.st_ino))
        except OSError as error:
            self._see(path, error)
        return subfolders

    def _show(self, entry: os.DirEntry[str], path: str) -> os.stat_result | None:
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError as error:
            self._see(path, error)
            return None
        self._see(path, status)
        return status

    def _count(self) -> None:
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise TooLargeError


def _open_folder(name: str, parent: int | None, inode: int) -> int:
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    if os.fstat(folder).st_ino != inode:
        os.close(folder)
        raise OSError(errno.ESTALE, "it was replaced by another folder")
    return folder
