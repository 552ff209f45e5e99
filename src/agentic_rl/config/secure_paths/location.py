"""Whether a path leads to something, and whether it leads through links."""

from __future__ import annotations

import errno
import os
from itertools import accumulate
from pathlib import Path
from stat import S_ISLNK

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.secure_paths.pages import LINK, MISSING, PARENT_LINK, UNREADABLE, finding
from agentic_rl.config.secure_paths.text import quoted, shown
from agentic_rl.config.secure_paths.value import instead

MAX_NEIGHBOURS = 2000
"""Names that are compared to find the one that was meant."""


def locate(path: str, key: str) -> tuple[list[Finding], os.stat_result | None]:
    """What stands at the `tidied` path (its own status, never a link's target's), and what is wrong on the way."""
    link = ""
    for part in prefixes(path):
        try:
            status = os.lstat(part)
        except OSError as error:
            return [_unreachable(part, key, error)], None
        if not S_ISLNK(status.st_mode):
            continue
        if part == path:
            return [_is_link(path, key)], None
        link = link or part
    return ([_parent_link(path, link, key)] if link else []), status


def prefixes(path: str) -> list[str]:
    """`/a/b` as `/`, `/a`, `/a/b`."""
    names = path.split("/")[1:] if path != "/" else []
    return list(accumulate(names, lambda above, name: f"{above.rstrip('/')}/{name}", initial="/"))


def _unreachable(part: str, key: str, error: OSError) -> Finding:
    above = part.rpartition("/")[0] or "/"
    if error.errno == errno.ENOENT and Path(above).is_symlink():
        return _is_link(above, key)
    if error.errno == errno.ENOENT:
        return finding(MISSING, key, f"{shown(part)} does not exist", _neighbour(above, part))
    if error.errno == errno.ENOTDIR:
        return finding(MISSING, key, f"{shown(part)} does not exist: {shown(above)} is a file", instead(key, above))
    if error.errno == errno.ELOOP:
        return _is_link(above, key)
    message = f"{shown(part)} can't be looked at: {error.strerror}"
    return finding(
        UNREADABLE, key, message, f"ls -ld {quoted(above)}  # shows who may; your user must be able to enter"
    )


def _neighbour(folder: str, missing: str) -> str:
    """A hint that names what stands next to the missing file and was probably meant."""
    from difflib import get_close_matches  # only needed after a mistake

    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_NEIGHBOURS))]  # noqa: B905 (cut short)
    except OSError:
        names = []
    close = get_close_matches(Path(missing).name, sorted(names), n=1)
    if close:
        return f"{shown(folder.rstrip('/'))}/{shown(close[0])} exists"
    return f"the last folder on the way that exists is {shown(folder)}; create what is missing, or correct the path"


def _is_link(path: str, key: str) -> Finding:
    target = shown(str(Path(path).readlink()))
    try:
        Path(path).stat()
    except FileNotFoundError:
        message = f"{shown(path)} is a broken symbolic link: its target {target} does not exist"
        return finding(LINK, key, message, "write the path of the real file or folder")
    except OSError as error:
        if error.errno != errno.ELOOP:
            return finding(LINK, key, f"{shown(path)} is a symbolic link (to {target}); links are refused")
        message = f"{shown(path)} is a symbolic link that leads back to itself (through {target})"
        return finding(LINK, key, message, "write the path of the real file or folder")
    message = f"{shown(path)} is a symbolic link (to {target}); links are refused"
    return finding(LINK, key, message, instead(key, os.path.realpath(path)))


def _parent_link(path: str, link: str, key: str) -> Finding:
    resolved = os.path.realpath(path)
    message = f"{shown(link)}, on the way to {shown(path)}, is a symbolic link; the real path is {shown(resolved)}"
    return finding(PARENT_LINK, key, message, instead(key, resolved))
