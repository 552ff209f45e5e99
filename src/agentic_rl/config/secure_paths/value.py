"""What the text of a path tells before any file is looked at."""

from __future__ import annotations

import os
import re

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.secure_paths.pages import NOT_A_PATH, NOT_ABSOLUTE, TOO_LONG, UNEXPANDED, finding
from agentic_rl.config.secure_paths.text import shown

MAX_CHARACTERS = 1024
MAX_NAME_BYTES = 255
_VARIABLE = re.compile(r"\$(?:\w+|\{[^}]*\})")


def check_value(value: str, key: str) -> Finding | None:
    """The first rule that the text `value` breaks by itself, if any."""
    return _not_a_path(value, key) or _too_long(value, key) or _unexpanded(value, key) or _not_absolute(value, key)


def tidied(path: str) -> str:
    """An absolute path without double slashes, `.`, and a slash at the end, which would follow a link it ends in.

    `..` stays: after a link it does not lead back.
    """
    return "/" + "/".join(name for name in path.split("/") if name not in ("", "."))


def instead(key: str, path: str) -> str:
    """A hint that says what to write for `key`."""
    name = key.rpartition(".")[2]
    return f"{name}: {shown(path)}" if name else f"use {shown(path)}"


def _not_a_path(value: str, key: str) -> Finding | None:
    hint = "write the absolute path of a file or folder that exists"
    if not value.strip():
        return finding(NOT_A_PATH, key, f"{value!r} is empty; a path is needed", hint)
    if "\0" in value:
        return finding(NOT_A_PATH, key, f"{shown(value)} holds a NUL character; no path can", hint)
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return finding(NOT_A_PATH, key, f"{shown(value)} holds characters that no file name can", hint)
    return None


def _too_long(value: str, key: str) -> Finding | None:
    if len(value) > MAX_CHARACTERS:
        message = f"{shown(value[:40])}... has {len(value)} characters; a path has at most {MAX_CHARACTERS}"
        return finding(TOO_LONG, key, message, "move it nearer to the root, or shorten the folders' names")
    for name in value.split("/"):
        size = len(os.fsencode(name))
        if size > MAX_NAME_BYTES:
            message = f"the name {shown(name[:40])}... has {size} bytes; a name has at most {MAX_NAME_BYTES}"
            return finding(TOO_LONG, key, message, "shorten the name")
    return None


def _unexpanded(value: str, key: str) -> Finding | None:
    variables = _VARIABLE.findall(value)
    if not value.startswith("~") and not variables:
        return None
    expanded = os.path.expandvars(os.path.expanduser(value))  # noqa: PTH111 (pathlib raises for an unknown user)
    what = ", ".join([value.split("/", maxsplit=1)[0]] * value.startswith("~") + variables)
    message = f"{shown(value)} is read as it stands; {shown(what)} is not expanded"
    unset = _VARIABLE.findall(expanded)
    if unset or expanded.startswith("~"):
        nobody = shown(", ".join(unset) or expanded.split("/")[0])
        return finding(UNEXPANDED, key, f"{message} (and {nobody} has no value here)", "write the absolute path itself")
    return finding(UNEXPANDED, key, message, instead(key, _absolute(expanded)))


def _not_absolute(value: str, key: str) -> Finding | None:
    if value.startswith("/"):
        return None
    if "://" in value:
        message = f"{shown(value)} is an address; only paths of this machine can be used"
        return finding(NOT_ABSOLUTE, key, message, "copy it to a local file system and write its absolute path")
    absolute = _absolute(value.strip())
    missing = "" if os.path.lexists(absolute) else ", which does not exist"
    message = f"{shown(value)} is relative: from this folder it is {shown(absolute)}{missing}; a path must be absolute"
    return finding(NOT_ABSOLUTE, key, message, instead(key, absolute))


def _absolute(path: str) -> str:
    try:
        return os.path.abspath(path)  # noqa: PTH100 (the hint is tidied: no `./` in it)
    except OSError:  # the current folder was removed
        return path
