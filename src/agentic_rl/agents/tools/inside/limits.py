"""What one call may use."""

from __future__ import annotations

import resource
from dataclasses import dataclass

MEBIBYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """What one call may use; whoever goes beyond is stopped, and the model reads why."""

    seconds: float = 10.0
    """Of the clock, from the first line of the code on."""
    cpu_seconds: int = 10
    """Of one process."""
    memory: int = 1024 * MEBIBYTE
    """Bytes of address space of one process."""
    processes: int = 16
    """Processes and threads at one time, the code itself included; 1 where the system has no namespaces."""
    file_size: int = 16 * MEBIBYTE
    """Bytes of one file."""
    folder_size: int = 64 * MEBIBYTE
    """Bytes of all files of a call together."""
    files: int = 4096
    """Files and folders of a call."""
    open_files: int = 256
    output: int = 30_000
    """Bytes of standard output and standard error together."""
    code: int = 100_000
    """Bytes of the code itself."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"{name}: {value!r} is no limit; write a number above 0")


def apply(limits: Limits, *, count_processes: bool) -> None:
    """Set the limits that the kernel keeps for the calling process and those it makes."""
    wanted = {
        resource.RLIMIT_AS: limits.memory,
        resource.RLIMIT_FSIZE: limits.file_size,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_CORE: 1,  # none, not even for a program that collects them, which 0 would allow
        resource.RLIMIT_MEMLOCK: 0,
    }
    if count_processes:
        wanted[resource.RLIMIT_NPROC] = limits.processes + 1  # and the process that watches over them
    for what, value in wanted.items():
        hard = resource.getrlimit(what)[1]
        most = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(what, (most, most))
    # The soft limit sends SIGXCPU, which tells the reason; the hard one kills whoever ignores it.
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds + 1))
