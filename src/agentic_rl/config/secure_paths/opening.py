"""Opening what was checked, and nothing else."""

from __future__ import annotations

import os
from dataclasses import dataclass
from stat import S_IMODE, S_ISDIR, S_ISREG
from typing import BinaryIO, Literal

from agentic_rl.config.secure_paths.pages import CHANGED
from agentic_rl.config.secure_paths.text import shown


class PathChangedError(OSError):
    """A path is no longer what the check saw. Check again, then start again."""

    code = CHANGED.code


@dataclass(frozen=True)
class CheckedPath:
    """A path that passed the check, with what identifies it.

    Device and inode are the identity. Owner and mode are compared as well, because a file system may give the inode
    of a removed file to the next one.
    """

    path: str
    kind: Literal["file", "folder"]
    device: int
    inode: int
    owner: int
    mode: int

    @classmethod
    def of(cls, path: str, status: os.stat_result) -> CheckedPath:
        """The identity of a regular file or a folder, from its own (not a link's target's) status."""
        kind: Literal["file", "folder"] = "folder" if S_ISDIR(status.st_mode) else "file"
        return cls(path, kind, status.st_dev, status.st_ino, status.st_uid, S_IMODE(status.st_mode))

    def open(self) -> BinaryIO:
        """Open a checked file for reading.

        Raises:
            PathChangedError: it is gone, a link, or another file now.
            IsADirectoryError: it is a checked folder; see `folder_fd`.
        """
        if self.kind == "folder":
            raise IsADirectoryError(f"{shown(self.path)} is a folder")
        return os.fdopen(self._descriptor(0), "rb")

    def folder_fd(self) -> int:
        """A descriptor of a checked folder, for `dir_fd=` and `os.scandir`; the caller closes it.

        Raises:
            PathChangedError: it is gone, a link, or another folder now.
            NotADirectoryError: it is a checked file; see `open`.
        """
        if self.kind == "file":
            raise NotADirectoryError(f"{shown(self.path)} is a file")
        return self._descriptor(os.O_DIRECTORY)

    def confirm(self) -> str:
        """The path itself, for a library that opens it by name, once it is seen to be the checked one still.

        Raises:
            PathChangedError: it is gone, a link, or something else now.
        """
        os.close(self._descriptor(0))
        return self.path

    def _descriptor(self, flags: int) -> int:
        # O_NONBLOCK: a pipe put in the file's place must not make us wait for a writer.
        flags |= os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            descriptor = os.open(self.path, flags)
        except OSError as error:
            raise self._changed(f"can't be opened: {error.strerror}") from error
        difference = self._difference(os.fstat(descriptor))
        if difference:
            os.close(descriptor)
            raise self._changed(difference)
        return descriptor

    def _difference(self, status: os.stat_result) -> str:
        if (status.st_dev, status.st_ino) != (self.device, self.inode):
            return "is another file or folder"
        if not (S_ISDIR if self.kind == "folder" else S_ISREG)(status.st_mode):
            return f"is no {self.kind}"
        if status.st_uid != self.owner:
            return "has another owner"
        if S_IMODE(status.st_mode) != self.mode:
            return f"has mode {S_IMODE(status.st_mode):o}, not {self.mode:o}"
        return ""

    def _changed(self, what: str) -> PathChangedError:
        return PathChangedError(
            f"{CHANGED.code} {shown(self.path)} changed after it was checked: it {what} now; check it again"
        )
