"""check_path: one finding per broken rule of the path policy."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from stat import S_ISDIR, S_ISREG
from typing import Literal

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.secure_paths.location import locate
from agentic_rl.config.secure_paths.offences import Offences
from agentic_rl.config.secure_paths.opening import CheckedPath
from agentic_rl.config.secure_paths.pages import KIND, TOO_LARGE, finding
from agentic_rl.config.secure_paths.text import shown
from agentic_rl.config.secure_paths.value import check_value, instead, tidied
from agentic_rl.config.secure_paths.walk import MAX_ENTRIES, MAX_LEVELS, TooLargeError, walk

Kind = Literal["file", "folder", "any"]


@dataclass(frozen=True)
class PathCheck:
    """What the check of one path found."""

    findings: list[Finding] = field(default_factory=list)
    """Without places; one per broken rule."""
    checked: CheckedPath | None = None
    """For opening it later; None when a finding is an error."""


def check_path(value: str, key: str, kind: Kind = "any") -> PathCheck:
    """Check the path that a configuration names under `key` against the whole policy.

    `value` is taken as written: a caller that allows relative paths (the configuration file itself) makes it absolute
    first with `pathlib.Path.absolute`, which keeps `..` and links as they are.
    """
    wrong = check_value(value, key)
    if wrong:
        return PathCheck([wrong])
    path = tidied(value)
    findings, status = locate(path, key)
    if status is None:
        return PathCheck(findings)
    wrong = _wrong_kind(path, key, kind, status)
    if wrong:
        return PathCheck([*findings, wrong])
    findings += _below(path, key, status)
    broken = any(one.severity == "error" for one in findings)
    return PathCheck(findings, None if broken else CheckedPath.of(path, status))


def check_prefix(value: str, key: str) -> PathCheck:
    """Check a path that may also be the common beginning of several files (a packed data set's prefix).

    Where nothing is called `value` itself, every file of its folder whose name begins with the last part of `value` is
    checked as `check_path` does; `checked` is None then, since there is no one file to open.
    """
    matching = [] if check_value(value, key) else prefix_files(value)
    findings = [one for name in matching for one in check_path(name, key, "file").findings]
    return PathCheck(list(dict.fromkeys(findings))) if matching else check_path(value, key)


def prefix_files(value: str) -> list[str]:
    """The files, links included, that an absolute `value` means by being the beginning of their names.

    None where something is called `value` itself, or where it ends in a slash and can only be a folder.
    """
    folder, _, start = tidied(value).rpartition("/")
    if value.endswith("/") or os.path.lexists(value):
        return []
    try:
        with os.scandir(folder or "/") as entries:
            files = [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return [f"{folder}/{name}" for name in sorted(files) if name.startswith(start)]


def _wrong_kind(path: str, key: str, kind: Kind, status: os.stat_result) -> Finding | None:
    is_folder = S_ISDIR(status.st_mode)
    if not is_folder and not S_ISREG(status.st_mode):
        message = f"{shown(path)} is neither a file nor a folder; pipes, sockets and devices are refused"
        return finding(KIND, key, message, "write the path of a file or folder")
    if kind == "any" or is_folder == (kind == "folder"):
        return None
    found = "folder" if is_folder else "file"
    hint = f"name a file in it: {shown(path)}/NAME" if is_folder else instead(key, os.path.dirname(path))  # noqa: PTH120
    return finding(KIND, key, f"{shown(path)} is a {found}; a {kind} is wanted", hint)


def _below(path: str, key: str, status: os.stat_result) -> list[Finding]:
    """What is wrong with the modes, owners and kinds of the path itself and of everything below it."""
    offences = Offences(path, key)
    offences.see("", status)
    if not S_ISDIR(status.st_mode):
        return offences.findings()
    try:
        walk(path, status.st_ino, offences.see)
    except TooLargeError:
        message = f"{shown(path)} holds more than {MAX_ENTRIES:,} files or more than {MAX_LEVELS} levels of folders"
        return [*offences.findings(), finding(TOO_LARGE, key, message, "name the folder that is meant")]
    return offences.findings()
