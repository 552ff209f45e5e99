"""fix_permissions: 750 and 640 below named trees, never through a link, never outside, never what others own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG

from agentic_rl.config.secure_paths import modes
from agentic_rl.config.secure_paths.text import shown, too_wide, user_name
from agentic_rl.config.secure_paths.value import check_value, tidied
from agentic_rl.config.secure_paths.walk import MAX_LEVELS


@dataclass(frozen=True)
class Fix:
    """What `fix_permissions` did about one file or folder."""

    path: str
    before: int | None = None
    """The mode it had; None where it could not be looked at."""
    after: int | None = None
    """The mode it has now; None when it was left as it was."""
    reason: str = ""
    """Why it was left as it was."""

    def __str__(self) -> str:
        """One line for people."""
        if self.after is None:
            return f"left {shown(self.path)}: {self.reason}"
        return f"chmod {self.after:o} {shown(self.path)} (was {self.before:o})"


def fix_permissions(paths: Iterable[str]) -> list[Fix]:
    """Give every folder at and below `paths` mode 750 and every file 640.

    Returns what was changed and what was wrong and could not be: links, other owners' files, files with further names
    (hard links, which may lie outside), pipes and devices, paths that are not absolute. Every file is held by a
    descriptor from the look at it to the change, so a file swapped for a link in between is not followed.
    """
    fixes: list[Fix] = []
    for value in dict.fromkeys(paths):
        wrong = check_value(value, "")
        reason = wrong.message if wrong else too_wide(value)
        if reason:
            fixes.append(Fix(value, reason=reason))
        else:
            path = tidied(value)
            fixes.extend(_fix(path, None, path))
    return fixes


def _fix(name: str, parent: int | None, path: str, level: int = 0) -> Iterator[Fix]:
    """Fix the entry `name` of the open folder `parent`, and everything below it."""
    try:
        held = modes.handle(name, parent)
    except OSError as error:
        yield Fix(path, reason=error.strerror or str(error))
        return
    try:
        status = os.fstat(held)
        fix = _fix_one(held, status, path)
        if fix:
            yield fix
        if S_ISDIR(status.st_mode):
            yield from _fix_below(held, path, level)
    finally:
        os.close(held)


def _fix_one(held: int, status: os.stat_result, path: str) -> Fix | None:
    before = S_IMODE(status.st_mode)
    wanted = modes.FOLDER if S_ISDIR(status.st_mode) else modes.FILE
    reason = _untouchable(status)
    if not reason and before == wanted:
        return None
    if not reason:
        try:
            modes.set_mode(held, wanted)
        except OSError as error:
            reason = error.strerror or str(error)
    return Fix(path, before, reason=reason) if reason else Fix(path, before, wanted)


def _untouchable(status: os.stat_result) -> str:
    if S_ISLNK(status.st_mode):
        return "it is a symbolic link"
    if not S_ISDIR(status.st_mode) and not S_ISREG(status.st_mode):
        return "it is neither a file nor a folder"
    if status.st_uid != os.geteuid():
        return f"it belongs to {user_name(status.st_uid)}"
    if S_ISREG(status.st_mode) and status.st_nlink > 1:
        return f"it has {status.st_nlink} names (hard links), and another may lie elsewhere; copy it"
    return ""


def _fix_below(held: int, path: str, level: int) -> Iterator[Fix]:
    if level >= MAX_LEVELS:
        yield Fix(path, reason=f"more than {MAX_LEVELS} levels of folders")
        return
    try:
        # "." of a held folder is that folder, wherever it was moved to or whatever took its name.
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=held)
    except OSError as error:
        yield Fix(path, reason=error.strerror or str(error))
        return
    try:
        for name in sorted(os.listdir(folder)):  # noqa: PTH208 (pathlib knows no descriptors)
            yield from _fix(name, folder, f"{path.rstrip('/')}/{name}", level + 1)
    finally:
        os.close(folder)
