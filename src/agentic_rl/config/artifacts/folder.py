"""A checked folder: the names and sizes of its files, and their bytes, each opened below the folder's descriptor."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from agentic_rl.config.secure_paths import CheckedPath

MAX_ENTRIES = 100_000
"""Entries of one folder that are looked at; the path policy refuses larger trees."""


@dataclass(frozen=True)
class Folder:
    """An open folder that passed the path policy."""

    path: str
    descriptor: int

    @classmethod
    @contextlib.contextmanager
    def opened(cls, checked: CheckedPath) -> Iterator[Folder]:
        """Open what was checked; `OSError` where it is something else now."""
        descriptor = checked.folder_fd()
        try:
            yield cls(checked.path, descriptor)
        finally:
            os.close(descriptor)

    def files(self) -> dict[str, int]:
        """Name -> bytes of the regular files directly in the folder."""
        return {name: status.st_size for name, status in self._entries() if S_ISREG(status.st_mode)}

    def folders(self) -> list[str]:
        """The names of the folders directly in the folder, sorted."""
        return sorted(name for name, status in self._entries() if S_ISDIR(status.st_mode))

    def open(self, name: str) -> BinaryIO:
        """Open the regular file `name`.

        Raises:
            OSError: it is gone, a link, or no regular file.
        """
        # O_NONBLOCK: a pipe put in the file's place must not make us wait for a writer.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        file = os.fdopen(os.open(name, flags, dir_fd=self.descriptor), "rb")
        if not S_ISREG(os.fstat(file.fileno()).st_mode):
            file.close()
            raise OSError(f"{name} is no regular file")
        return file

    @contextlib.contextmanager
    def below(self, name: str) -> Iterator[Folder]:
        """Open the folder `name` in this one."""
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=self.descriptor)
        try:
            yield Folder(f"{self.path}/{name}", descriptor)
        finally:
            os.close(descriptor)

    def _entries(self) -> Iterator[tuple[str, os.stat_result]]:
        with os.scandir(self.descriptor) as entries:
            for _, entry in zip(range(MAX_ENTRIES), entries, strict=False):
                with contextlib.suppress(OSError):  # gone meanwhile
                    yield entry.name, entry.stat(follow_symlinks=False)
