"""Rules about files that a process gives itself, and can never take back."""

from __future__ import annotations

import contextlib
import ctypes
import os
import stat
from collections.abc import Iterable

from . import kernel

ENOUGH = 3
"""The first version of the kernel's interface that rules over truncation (Linux 6.2)."""

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_FOLDER, _TRUNCATE, _DEVICE_REQUESTS = (
    1 << bit for bit in (0, 1, 2, 3, 14, 15)
)
_READ = _EXECUTE | _READ_FILE | _READ_FOLDER
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15}
"""How many rights about files a version has; 16 from version 5 on."""
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("access", ctypes.c_uint64), ("parent", ctypes.c_int32))


def version() -> int:
    """Return the version of the kernel's interface, 0 without one."""
    with contextlib.suppress(OSError):
        return kernel.syscall(_CREATE, "landlock", None, ctypes.c_size_t(0), ctypes.c_uint(1))
    return 0


def restrict(readable: Iterable[str], devices: Iterable[str], writable: str) -> None:
    """Leave this process, for ever, only these files.

    Args:
        readable: folders and files whose contents may be read and run.
        devices: files that may be read and written.
        writable: a folder in which everything is allowed.

    Raises:
        OSError: the kernel has no Landlock, or refuses a rule.
    """
    interface = version()
    every = (1 << _FILE_RIGHTS.get(interface, 16)) - 1
    rules = _Ruleset(every, 3 if interface >= _NETWORK_SINCE else 0, 3 if interface >= _SCOPES_SINCE else 0)
    size = 24 if interface >= _SCOPES_SINCE else 16 if interface >= _NETWORK_SINCE else 8
    ruleset = kernel.syscall(_CREATE, "landlock", ctypes.byref(rules), ctypes.c_size_t(size), ctypes.c_uint(0))
    try:
        for path in readable:
            _allow(ruleset, path, _READ)
        for path in devices:
            _allow(ruleset, path, (_READ_FILE | _WRITE_FILE) & every)
        _allow(ruleset, writable, every & ~_DEVICE_REQUESTS)
        kernel.syscall(_RESTRICT, "landlock", ctypes.c_int(ruleset), ctypes.c_uint(0))
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: str, access: int) -> None:
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            access &= _ON_FILES
        rule = _Beneath(access, handle)
        kernel.syscall(_ADD, f"landlock {path}", ctypes.c_int(ruleset), ctypes.c_int(1), ctypes.byref(rule), 0)
    finally:
        os.close(handle)
