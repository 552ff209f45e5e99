"""What breaks the policy at a path and below it: for each rule the first offender and a count."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from stat import S_IMODE, S_ISDIR, S_ISLNK, S_ISREG, filemode

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.rules import Page
from agentic_rl.config.secure_paths import modes
from agentic_rl.config.secure_paths.pages import (
    FILE_MODE,
    FOLDER_MODE,
    KIND,
    LINK,
    OWNER,
    UNREADABLE,
    UNSTEADY,
    finding,
)
from agentic_rl.config.secure_paths.text import quoted, shown, too_wide, user_name
from agentic_rl.config.secure_paths.walk import Seen

_CHANGED_MEANWHILE = {errno.ENOENT, errno.ELOOP, errno.ENOTDIR, errno.ESTALE}
"""What a system call says about an entry that was removed or swapped after it was listed."""


@dataclass
class Offence:
    """The entries that break one rule."""

    first: str
    """Relative path of the first one in alphabetical order, whatever the order they were seen in."""
    detail: str
    count: int = 1


class Offences:
    """Collects what breaks the policy at `path` and below it, in memory that does not grow with the number of files."""

    def __init__(self, path: str, key: str) -> None:
        self._path = path
        self._key = key
        self._user = os.geteuid()
        self._broken: dict[Page, Offence] = {}
        self._special_bits = False

    def see(self, relative: str, seen: Seen) -> None:
        """Judge one entry; `relative` is empty for `path` itself."""
        if isinstance(seen, OSError):
            page = UNSTEADY if seen.errno in _CHANGED_MEANWHILE else UNREADABLE
            return self._add(page, relative, seen.strerror or str(seen))
        mode = seen.st_mode
        if S_ISREG(mode):
            if S_IMODE(mode) != modes.FILE:
                self._add(FILE_MODE, relative, f"{S_IMODE(mode):o}")
        elif S_ISDIR(mode):
            if S_IMODE(mode) != modes.FOLDER:
                self._special_bits |= bool(mode & 0o7000)
                self._add(FOLDER_MODE, relative, f"{S_IMODE(mode):o}")
        else:
            self._add(LINK if S_ISLNK(mode) else KIND, relative, filemode(mode)[0])
        if seen.st_uid != self._user:
            self._add(OWNER, relative, user_name(seen.st_uid))
        return None

    def _add(self, page: Page, relative: str, detail: str) -> None:
        known = self._broken.get(page)
        if known is None:
            self._broken[page] = Offence(relative, detail)
            return
        known.count += 1
        if relative < known.first:
            known.first, known.detail = relative, detail

    def findings(self) -> list[Finding]:
        """One finding per broken rule, in the order of the codes."""
        broken = sorted(self._broken.items(), key=lambda item: item[0].code)
        return [self._finding(page, offence) for page, offence in broken]

    def _finding(self, page: Page, offence: Offence) -> Finding:
        first = shown(f"{self._path.rstrip('/')}/{offence.first}" if offence.first else self._path)
        more = f" (and {offence.count - 1} more)" if offence.count > 1 else ""
        message = _MESSAGES[page].format(first=first, detail=offence.detail, more=more)
        return finding(page, self._key, message, self._hint(page))

    def _hint(self, page: Page) -> str:
        place = quoted(self._path)
        if page in (FOLDER_MODE, FILE_MODE):
            if too_wide(self._path):
                return too_wide(self._path)
            return " && ".join(self._chmods(place)) + "  # or: agentic-rl check FILE --fix-permissions"
        if page is OWNER:
            user = quoted(user_name(self._user).removeprefix("uid "))
            return f"sudo chown -R {user} {place}  # or copy it and name the copy"
        if page is LINK:
            return f"cp -rL {place} COPY  # a copy without links; name that one"
        if page is UNREADABLE:
            return f"ls -lR {place}  # shows the modes; what you own must be readable for you"
        return "check again when nothing writes there" if page is UNSTEADY else "move it out of there"

    def _chmods(self, place: str) -> list[str]:
        """The commands that this path needs, both of them where folders and files are wrong."""
        # GNU chmod keeps a folder's set-group-ID bit unless the number has five digits.
        folder_mode = "00750" if self._special_bits else "750"
        if self._broken.get(FILE_MODE, Offence("-", "")).first == "":
            return [f"chmod 640 {place}"]
        commands = {
            FOLDER_MODE: f"find {place} -type d -exec chmod {folder_mode} {{}} +",
            FILE_MODE: f"find {place} -type f -exec chmod 640 {{}} +",
        }
        return [command for page, command in commands.items() if page in self._broken]


_MESSAGES = {
    LINK: "{first} is a symbolic link{more}; nothing below the path may be one",
    FOLDER_MODE: "{first} has mode {detail}{more}; a folder must have mode 750",
    FILE_MODE: "{first} has mode {detail}{more}; a file must have mode 640",
    OWNER: "{first} belongs to {detail}{more}; the owner must be the current user",
    KIND: "{first} is neither a file nor a folder{more}; pipes, sockets and devices are refused",
    UNREADABLE: "{first} can't be read: {detail}{more}; everything below the path must be readable",
    UNSTEADY: "{first} vanished or was replaced while it was checked{more}",
}
