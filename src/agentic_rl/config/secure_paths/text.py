"""Paths in messages and in shell commands."""

from __future__ import annotations

import os
import pwd
import shlex
import sys
from pathlib import Path


def shown(path: str) -> str:
    """`path` with control characters and undecodable bytes escaped, so that any terminal can print it."""
    return path if path.isprintable() else repr(path)[1:-1]


def quoted(path: str) -> str:
    """`path` as one word of a shell command (bash's `$'...'` where it can't be printed)."""
    if path.isprintable():
        return shlex.quote(path)
    return "$'" + "".join(f"\\x{byte:02x}" for byte in os.fsencode(path)) + "'"


def user_name(uid: int) -> str:
    """The name of a user, or `uid N` where the system has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def too_wide(path: str) -> str:
    """Why the modes below `path` must not be set as a whole, or nothing.

    A home folder holds keys and programs, and a Python holds programs: 640 on all of them would break the machine.
    """
    if Path(path).is_symlink():
        return ""
    tree = os.path.realpath(path)
    home = os.path.expanduser("~")  # noqa: PTH111 (pathlib raises where the user has no home)
    for kept, what in ((home, "your home folder"), (sys.prefix, "the Python that runs this")):
        if Path(os.path.realpath(kept)).is_relative_to(tree):
            return f"it holds {what}; name a folder further down"
    return ""
