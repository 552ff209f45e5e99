"""System calls of Linux that Python 3.10 has no function for."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
from typing import Any

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x20000, 0x4000000, 0x8000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000

MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
MNT_DETACH = 2
READ_ONLY, NO_SETUID, NO_DEVICES = 1, 2, 4
"""Attributes of `restrict_mount`."""

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP = 1, 4, 22
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_MODE_FILTER = 2
_AT_RECURSIVE = 0x8000
_CAPABILITY_VERSION = 0x20080522
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_CLONE = {"x86_64": 56, "aarch64": 220}
_MOUNT_SETATTR = 442

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _MountAttributes(ctypes.Structure):
    _fields_ = (
        ("set", ctypes.c_uint64),
        ("clear", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("userns_fd", ctypes.c_uint64),
    )


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, what: str, *arguments: Any) -> int:
    """Make a system call that the C library has no function for.

    Raises:
        OSError: it failed; the text begins with `what`.
    """
    return _checked(_libc.syscall(ctypes.c_long(number), *arguments), what)


def unshare(flags: int) -> None:
    """Give the calling process namespaces of its own; a pid namespace begins with its next child."""
    _checked(_libc.unshare(ctypes.c_int(flags)), "unshare")


def fork_into_namespaces(flags: int) -> int:
    """Fork; the child is in new namespaces from its beginning.

    That is one process less than `unshare` and two forks take, and half of the time. Python does not know of this fork,
    so it is for processes with one thread, whose child does hardly more than `os.fork`, of which Python knows.

    Returns:
        0 in the child; in the parent, the child's pid.
    """
    number = _known(_CLONE, "clone")
    return syscall(number, "clone", ctypes.c_ulong(flags | signal.SIGCHLD), None, None, None, None)


def _known(numbers: dict[str, int], what: str) -> int:
    machine = os.uname().machine
    if machine not in numbers:
        raise OSError(errno.ENOSYS, f"{what}: not known on {machine}")
    return numbers[machine]


def mount(source: str, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    """Attach a file system to a folder, as `man 2 mount` describes it."""
    texts = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _checked(_libc.mount(texts[0], texts[1], texts[2], ctypes.c_ulong(flags), texts[3]), f"mount {target}")


def restrict_mount(path: str, attributes: int, *, recursive: bool) -> None:
    """Add restrictions to the mount at `path` and, if `recursive`, to all that are mounted below it."""
    wanted = _MountAttributes(set=attributes)
    flags = ctypes.c_uint(_AT_RECURSIVE if recursive else 0)
    size = ctypes.c_size_t(ctypes.sizeof(wanted))
    directory = ctypes.c_int(-100)  # AT_FDCWD; the path is absolute
    syscall(_MOUNT_SETATTR, "mount_setattr", directory, os.fsencode(path), flags, ctypes.byref(wanted), size)


def become_root_folder(folder: str) -> None:
    """Make `folder`, a mount point, the root of the mount namespace; what was mounted before is gone."""
    os.chdir(folder)
    syscall(_known(_PIVOT_ROOT, "pivot_root"), "pivot_root", b".", b".")
    _checked(_libc.umount2(b".", ctypes.c_int(MNT_DETACH)), "umount")
    os.chdir("/")


def _prctl(option: int, what: str, *arguments: int) -> None:
    words = [ctypes.c_ulong(word) for word in (*arguments, 0, 0, 0, 0)[:4]]
    _checked(_libc.prctl(ctypes.c_int(option), *words), what)


def die_with_parent() -> None:
    """Have the kernel kill this process when the thread that made it ends."""
    _prctl(_PR_SET_PDEATHSIG, "PR_SET_PDEATHSIG", 9)


def set_dumpable(dumpable: bool) -> None:
    """Say whether processes of the same user may trace this one and read its folder in /proc."""
    _prctl(_PR_SET_DUMPABLE, "PR_SET_DUMPABLE", int(dumpable))


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _prctl(_PR_SET_CHILD_SUBREAPER, "PR_SET_CHILD_SUBREAPER", 1)


def gain_nothing_from_programs() -> None:
    """Make setuid programs ordinary ones for this process and its descendants, for ever."""
    _prctl(_PR_SET_NO_NEW_PRIVS, "PR_SET_NO_NEW_PRIVS", 1)


def drop_capabilities() -> None:
    """Give up every capability of this process."""
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _checked(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")


def filter_system_calls(program: bytes) -> None:
    """Load a filter of `seccomp.program`; it needs `gain_nothing_from_programs` before it."""
    loaded = _Program(len(program) // 8, program)
    address = ctypes.cast(ctypes.pointer(loaded), ctypes.c_void_p).value
    _prctl(_PR_SET_SECCOMP, "seccomp", _SECCOMP_MODE_FILTER, address or 0)
