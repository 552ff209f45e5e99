"""Writing files that pass the path policy: folders 750, files 640, whatever the umask.

Checkpoints, logs and trajectories are sensitive; a later check of the folder that holds them must pass. Every function
raises OSError with the path in `filename`.
"""

from __future__ import annotations

import errno
import io
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import TYPE_CHECKING, BinaryIO

from agentic_rl.config.secure_paths import modes

if TYPE_CHECKING:
    from typing_extensions import Buffer

StrPath = str | os.PathLike[str]


def make_folder(path: StrPath) -> Path:
    """Make a folder, and the parents that are missing, with mode 750; existing folders stay as they are.

    Raises:
        FileExistsError: a file (or a link to nothing) stands there.
    """
    folder = Path(path)
    if folder.is_dir():
        return folder
    if folder.parent != folder:
        make_folder(folder.parent)
    try:
        folder.mkdir(modes.FOLDER)
    except FileExistsError:
        if not folder.is_dir():  # another process may have made it meanwhile
            raise
        return folder
    _set_mode(os.fspath(folder), modes.FOLDER)
    return folder


def open_new(path: StrPath) -> BinaryIO:
    """Open a file that must not exist yet for writing.

    Raises:
        FileExistsError: something stands there, be it a link to nothing.
    """
    return _open(path, os.O_CREAT | os.O_EXCL)


def open_append(path: StrPath) -> BinaryIO:
    """Open a file for appending; it is made where it is missing, and has mode 640 in both cases.

    Raises:
        OSError: a link (ELOOP), another user's file (EPERM), or no regular file.
    """
    return _open(path, os.O_CREAT | os.O_APPEND)


@contextmanager
def replace_file(path: StrPath) -> Iterator[BinaryIO]:
    """Write a file that takes the place of `path` as a whole when the block ends without an exception.

    The new content is on the disk before the old is given up. After an exception, a full disk included, `path` is what
    it was and nothing else is left behind.
    """
    target = Path(path)
    temporary = target.parent / f".{secrets.token_hex(8)}.tmp"
    try:
        with open_new(temporary) as file:
            yield file
            file.flush()
            _sync(file.fileno(), target)
        temporary.replace(target)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == os.fspath(temporary):
            error.filename = os.fspath(target)
        raise
    _sync_folder(target.parent)


def rename_folder_into_place(temporary: StrPath, final: StrPath) -> None:
    """Give a finished folder its final name in one step, after setting its modes and bringing it onto the disk.

    Whoever sees `final` sees all of it, after a power failure too. What libraries wrote into the folder with other
    modes gets 750 and 640.

    Raises:
        OSError: `final` exists and is not an empty folder, or lies on another file system; or `temporary` holds a link,
            a pipe or another user's file.
    """
    _settle(os.fspath(temporary))
    Path(temporary).rename(final)
    _sync_folder(Path(final).parent)


class _NamedFile(io.FileIO):
    """A file whose failing writes say which file it was (the system says only that the disk is full)."""

    def write(self, data: Buffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self.name
            raise


def _open(path: StrPath, flags: int) -> BinaryIO:
    mode = "ab" if flags & os.O_APPEND else "wb"
    raw = _NamedFile(os.fspath(path), mode, opener=lambda name, _: _open_regular(name, os.O_WRONLY | flags))
    return io.BufferedWriter(raw)


def _open_regular(name: str, flags: int) -> int:
    """A descriptor of a regular file with mode 640, never through a link and never waiting for a pipe's other end."""
    descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, modes.FILE)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", name)
        os.fchmod(descriptor, modes.FILE)
    except OSError as error:
        os.close(descriptor)
        error.filename = name
        raise
    return descriptor


def _set_mode(path: str, mode: int) -> None:
    """Set the mode of a folder or regular file that may be unreadable for us now."""
    held = modes.handle(path)
    try:
        status = os.fstat(held)
        if not (S_ISDIR if mode == modes.FOLDER else S_ISREG)(status.st_mode):
            raise OSError(errno.EINVAL, "neither a regular file nor a folder", path)
        modes.set_mode(held, mode)
    finally:
        os.close(held)


def _settle(folder: str) -> None:
    """Set the modes and flush to disk, files before the folder that names them."""
    _set_mode(folder, modes.FOLDER)
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                _settle(entry.path)
                continue
            _set_mode(entry.path, modes.FILE)
            descriptor = _open_regular(entry.path, os.O_RDONLY)
            try:
                _sync(descriptor, entry.path)
            finally:
                os.close(descriptor)
    _sync_folder(folder)


def _sync_folder(folder: StrPath) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _sync(descriptor, folder)
    finally:
        os.close(descriptor)


def _sync(descriptor: int, path: StrPath) -> None:
    try:
        os.fsync(descriptor)
    except OSError as error:
        error.filename = os.fspath(path)
        raise
