"""A filter of system calls, written as the classic BPF program that the kernel reads."""

from __future__ import annotations

import errno
import functools
import os
import struct
from collections.abc import Iterable

from . import syscalls

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""By name: the column of `syscalls`, and the number that the kernel tells a filter."""

_LOAD, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in `struct seccomp_data`."""
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_X32 = 0x40000000
_NEW_NAMESPACES = 0x7E020080
"""Flags of clone(2) that make namespaces."""
_SET_OWNER_COMMANDS = (8, 15)
"""F_SETOWN and F_SETOWN_EX of fcntl(2): they send signals."""
_SET_OWNER_REQUESTS = (0x8901, 0x8902)
"""The same by ioctl(2)."""


def known_machine() -> bool:
    """Return whether a filter can be written for this machine's processor."""
    return os.uname().machine in _ARCHITECTURES


@functools.cache
def program(alone: int | None = None) -> bytes:
    """Write the filter.

    Args:
        alone: the pid of a process that may neither make others nor reach them, for use without namespaces; None:
            namespaces see to that.

    Raises:
        KeyError: this processor's calls are not known (`known_machine`).
    """
    column, architecture = _ARCHITECTURES[os.uname().machine]
    code = [_op(_LOAD, _ARCHITECTURE), _op(_EQUAL, architecture, 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    if column == 0:  # the other numbering of the same processor would go around every line below
        code += [_op(_AT_LEAST, _X32, 0, 1), _op(_RETURN, _KILL)]
    code += [_op(_GREATER, syscalls.NEWEST, 0, 1), _refuse(errno.ENOSYS)]
    code += _each(syscalls.REFUSED, column, errno.EPERM)
    # clone3 has its flags in memory, where a filter can't read them: without it the C library takes clone.
    code += [_op(_EQUAL, syscalls.CLONE3[column], 0, 1), _refuse(errno.ENOSYS)]
    if alone is None:
        code += _without_flags(syscalls.CLONE[column], _NEW_NAMESPACES)
    else:
        code += _each(syscalls.REFUSED_WITHOUT_NAMESPACES, column, errno.EPERM)
        code += _each(syscalls.MORE_PROCESSES, column, errno.EAGAIN)
        code += _only(syscalls.KILL[column], 0, (alone,)) + _only(syscalls.TGKILL[column], 0, (alone,))
        code += _only(syscalls.PRLIMIT[column], 0, (0, alone))
        code += _never(syscalls.FCNTL[column], 1, _SET_OWNER_COMMANDS)
        code += _never(syscalls.IOCTL[column], 1, _SET_OWNER_REQUESTS)
    return b"".join([*code, _op(_RETURN, _ALLOW)])


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refuse(number: int) -> bytes:
    return _op(_RETURN, _ERRNO | number)


def _each(numbers: syscalls.Numbers, column: int, error: int) -> list[bytes]:
    code = []
    for pair in numbers.values():
        number = pair[column]
        if number is not None:
            code += [_op(_EQUAL, number, 0, 1), _refuse(error)]
    return code


def _for(number: int, body: list[bytes]) -> list[bytes]:
    """Run `body` for one call; it ends by returning, or goes on to allow the call."""
    return [_op(_EQUAL, number, 0, len(body) + 1), *body, _op(_RETURN, _ALLOW)]


def _without_flags(number: int, flags: int) -> list[bytes]:
    return _for(number, [_op(_LOAD, _ARGUMENTS), _op(_ANY_BIT, flags, 0, 1), _refuse(errno.EPERM)])


def _only(number: int, argument: int, values: Iterable[int]) -> list[bytes]:
    body = [_op(_LOAD, _ARGUMENTS + 8 * argument)]
    for value in values:
        body += [_op(_EQUAL, value, 0, 1), _op(_RETURN, _ALLOW)]
    return _for(number, [*body, _refuse(errno.EPERM)])


def _never(number: int, argument: int, values: Iterable[int]) -> list[bytes]:
    body = [_op(_LOAD, _ARGUMENTS + 8 * argument)]
    for value in values:
        body += [_op(_EQUAL, value, 0, 1), _refuse(errno.EPERM)]
    return _for(number, body)
