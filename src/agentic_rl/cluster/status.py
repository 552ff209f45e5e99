"""What each node of a run is doing, in files on shared storage: one a node, replaced as a whole, with a lease.

The writer counts up a beat. Who reads looks, by its own clock, whether the beat moves: the machines' clocks need not
agree, and a node that died is noticed however it died.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from agentic_rl.config.writing import make_folder, replace_file

FOLDER = "nodes"
"""In a run's folder."""
BEAT_SECONDS = 2.0
LEASE_SECONDS = 30.0
"""How long a beat may stand still; file systems of networks show changes late."""
State = Literal["starting", "running", "waiting", "finished", "failed", "stopped", "gave up"]
ENDED: tuple[State, ...] = ("finished", "failed", "stopped", "gave up")
SCHEMA = 1


@dataclass(frozen=True)
class NodeStatus:
    """What a node says of itself. Extra fields of later versions are ignored when read."""

    node: int
    part: str
    """What it is in the run."""
    state: State = "starting"
    host: str = field(default_factory=socket.gethostname)
    pid: int = field(default_factory=os.getpid)
    launch: str = field(default_factory=lambda: secrets.token_hex(8))
    """Tells this start of the program from every other."""
    beat: int = 0
    attempt: int = 0
    """Starts of the job before the present one."""
    step: int = 0
    """The last step of the run that was seen."""
    exit_status: int | None = None
    message: str = ""
    """The last error, or what is waited for."""
    updated: float = field(default_factory=time.time)
    """Seconds since 1970 by the node's own clock."""
    lease_seconds: float = LEASE_SECONDS
    schema: int = SCHEMA


def read(path: Path) -> NodeStatus | None:
    """The status in a file; None where there is none, or none that can be read."""
    try:
        found = json.loads(path.read_bytes())
        known = {name: found[name] for name in NodeStatus.__dataclass_fields__ if name in found}
        return NodeStatus(**known)
    except (OSError, ValueError, TypeError):
        return None


def read_all(folder: Path) -> dict[str, NodeStatus]:
    """File name without its ending -> status, of every file in `folder`."""
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return {file.stem: status for file in files if (status := read(file))}


class StatusFile:
    """Writes the status of this node, and beats while entered."""

    def __init__(self, path: Path, status: NodeStatus, beat_seconds: float = BEAT_SECONDS) -> None:
        self.path = path
        self.status = status
        self._beat_seconds = beat_seconds
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="node status", daemon=True)

    def __enter__(self) -> StatusFile:
        make_folder(self.path.parent)
        with self._lock:
            self._write()
        self._thread.start()
        return self

    def __exit__(self, *ended: object) -> None:
        self._over.set()
        self._thread.join()
        if self.status.state not in ENDED:
            self.update(state="failed")

    def update(self, **changes: Any) -> None:
        """Change fields, and write. Storage that refuses is no reason to end a job: the next beat may reach it."""
        with self._lock, contextlib.suppress(OSError):
            self.status = replace(self.status, **changes)
            self._write()

    def _write(self) -> None:
        self.status = replace(self.status, beat=self.status.beat + 1, updated=time.time())
        with replace_file(self.path) as file:
            file.write(json.dumps(asdict(self.status), indent=1).encode() + b"\n")

    def _beat(self) -> None:
        while not self._over.wait(self._beat_seconds):
            self.update()


class Lease:
    """Watches the file of another node: whether it still beats."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._clock = clock
        self._stale = read(path)
        """What an earlier launch left: it says nothing of this one."""
        self._seen: tuple[str, int] | None = None
        self._moved = clock()

    def look(self) -> NodeStatus | None:
        """The status of the node in this launch; None as long as it has not said anything."""
        status = read(self.path)
        if status is None or (self._seen is None and status == self._stale):
            return None
        if self._seen != (status.launch, status.beat):
            self._seen = status.launch, status.beat
            self._moved = self._clock()
        return status

    @property
    def expired(self) -> bool:
        """Whether the node has beaten, and does so no more, without having ended."""
        if self._seen is None:
            return False
        status = read(self.path)
        if status is not None and status.state in ENDED:
            return False
        limit = status.lease_seconds if status else LEASE_SECONDS
        return self._clock() - self._moved > limit
