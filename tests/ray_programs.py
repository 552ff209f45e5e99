"""Programs that use Ray in a process of their own, and what is seen of processes from outside."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

LOOPBACK_ONLY = {
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
}


@contextlib.contextmanager
def program(text: str, *arguments: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """Run Python text in a process (and a group) of its own; it is killed where it outlives the block."""
    there = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    process = subprocess.Popen(
        [sys.executable, "-c", text, *arguments],
        env={**there, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> str:
    """The next line that the program prints."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def until(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition holds within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


def below(pid: int) -> list[Any]:
    """The processes below a process."""
    import psutil

    return list(psutil.Process(pid).children(recursive=True))


def running(processes: list[Any]) -> list[Any]:
    """Those that still run (a zombie doesn't)."""
    import psutil

    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def listens_at(processes: list[Any]) -> set[str]:
    """The addresses at which processes listen (TCP), as the system's table shows them."""
    nodes = {name for process in processes for name in _sockets(process.pid)}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in nodes:
                found.add(fields[1].partition(":")[0])
    return found


def _sockets(pid: int) -> list[str]:
    with contextlib.suppress(OSError):  # ended, or closed meanwhile
        return [str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir()]
    return []
