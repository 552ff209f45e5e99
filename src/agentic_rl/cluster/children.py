"""Child processes side by side, each with a log file of its own; none is left behind.

A child writes its log itself, so that it loses nothing when we are killed; what we print is read from the logs. Each
child has a process group, and of the processes of this machine only those groups are ever signalled.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import BinaryIO

from agentic_rl.cluster.parent import GRACE_SECONDS, PARENT
from agentic_rl.config.writing import make_folder, open_append

LOOK_SECONDS = 0.1
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Command:
    """What is run, under which name."""

    name: str
    arguments: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    """On top of our own."""


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    command: Command
    status: int
    """As a shell gives it: 128 and the signal's number where one ended it."""


Say = Callable[[str], None]


def run_all(
    commands: Sequence[Command],
    say: Say,
    out: BinaryIO,
    *,
    beside: Sequence[Command] = (),
    grace: float = GRACE_SECONDS,
) -> list[Ended]:
    """Run the commands at the same time, to the end of all of them.

    The first SIGINT, SIGTERM or SIGHUP that we get is passed on to each; so is the second, after which a child has
    `grace` seconds until it is killed; the third kills at once.

    Args:
        commands: Each with a log file, which is appended to.
        say: Told, in a line each, what begins and ends.
        out: Gets what the commands write, line by line with their names where there are several.
        beside: What runs as long as they do; it is asked to stop (SIGTERM) when the last of them has ended.
        grace: Seconds; also what the processes of a command get to end after its own end.

    Raises:
        OSError: a log can't be written, or a command can't be run; those that were started are ended.
    """
    crew, everything = _Crew(grace, say, beside), [*commands, *beside]
    with received(crew.signalled):
        try:
            for command in everything:
                crew.start(command, out if len(everything) == 1 else _Prefixed(out, command.name))
            while crew.look():
                time.sleep(LOOK_SECONDS)
        finally:
            crew.kill()
    return crew.ended


class _Crew:
    """The children of one run."""

    def __init__(self, grace: float, say: Say, beside: Sequence[Command]) -> None:
        self.ended: list[Ended] = []
        self._living: list[Child] = []
        self._grace, self._say = grace, say
        self._beside = list(beside)
        self._signals = 0
        self._deadline: float | None = None

    def start(self, command: Command, out: BinaryIO | _Prefixed) -> None:
        self._living.append(Child(command, out))
        self._say(f"{command.name}: started, log {command.log}")

    def signalled(self, number: int) -> None:
        """Pass a signal on; from the second on it is urgent."""
        self._signals += 1
        if self._signals == 2:
            self._deadline = time.monotonic() + self._grace
        for child in self._living:
            child.signal(signal.SIGKILL if self._signals > 2 else number)

    def look(self) -> bool:
        """Print what is new and take leave of those that ended; whether one lives still."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            self.signalled(signal.SIGKILL)
        for child in list(self._living):
            gone = child.gone()
            child.print_new()
            if gone:
                self._living.remove(child)
                self._leave(child)
        if self._beside and all(child.command in self._beside for child in self._living):
            self._beside = []
            for child in self._living:
                child.signal(signal.SIGTERM)
        return bool(self._living)

    def _leave(self, child: Child) -> None:
        status = child.finish(self._grace)
        self.ended.append(Ended(child.command, status))
        how = "finished" if status == 0 else f"ended with status {status}, see {child.command.log}"
        self._say(f"{child.command.name}: {how}")

    def kill(self) -> None:
        """End what still lives: nothing does unless an exception broke in."""
        for child in self._living:
            child.signal(signal.SIGKILL)
            child.finish(self._grace)


class Child:
    """One process, its group, and its log."""

    def __init__(self, command: Command, out: BinaryIO | _Prefixed) -> None:
        self.command = command
        self._out: BinaryIO | _Prefixed | None = out
        make_folder(command.log.parent)
        with open_append(command.log):
            self._reader = command.log.open("rb")
        self._reader.seek(0, os.SEEK_END)
        self._process = started(command.arguments, command.log, command.environment)

    def gone(self) -> bool:
        """Whether the process has ended; it stays known to the system until `finish`, so that its group is ours."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return os.waitid(os.P_PID, self._process.pid, options) is not None

    def signal(self, number: int) -> None:
        """Signal the process, which knows how to end its own; kill the group as a whole."""
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGKILL:
                os.killpg(self._process.pid, number)
            else:
                os.kill(self._process.pid, number)

    def print_new(self) -> None:
        """Print what the log has that was not printed; never again once nobody reads it."""
        try:
            while self._out is not None and (chunk := self._reader.read(_CHUNK)):
                self._out.write(chunk)
                self._out.flush()
        except (OSError, ValueError):
            self._out = None

    def finish(self, grace: float) -> int:
        """End what is left of the group, and give the status of the process."""
        deadline = time.monotonic() + grace
        number = signal.SIGTERM
        while self._has_others():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            if time.monotonic() > deadline:
                number = signal.SIGKILL
            time.sleep(LOOK_SECONDS)
        self.print_new()
        self._reader.close()
        return as_shell(self._process.wait())

    def _has_others(self) -> bool:
        """Whether the group has living processes besides its first, which has ended."""
        return any(group == self._process.pid and state != "Z" for group, state in _processes())


def started(arguments: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process in a group of its own, which ends with us; its output is appended to `log`.

    Args:
        arguments: what is run.
        log: a file; its folder is made.
        environment: on top of our own.

    Raises:
        OSError: it can't be run, or the log can't be written.
    """
    make_folder(log.parent)
    with open_append(log) as output:
        return subprocess.Popen(  # noqa: S603 - the caller's command
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", PARENT: str(os.getpid()), **environment},
            start_new_session=True,
        )


def as_shell(status: int) -> int:
    """How a process ended, as a shell says it: 128 and the number of the signal where one ended it."""
    return status if status >= 0 else 128 - status


class _Prefixed:
    """Writes whole lines only, each with the name of its source."""

    def __init__(self, out: BinaryIO, name: str) -> None:
        self._out, self._prefix, self._begun = out, f"[{name}] ".encode(), b""

    def write(self, chunk: bytes) -> None:
        *lines, self._begun = (self._begun + chunk).split(b"\n")
        for line in lines:
            self._out.write(self._prefix + line.rpartition(b"\r")[2] + b"\n")

    def flush(self) -> None:
        self._out.flush()


def _processes() -> Iterator[tuple[int, str]]:
    """Process group and state of every process of this machine that can be seen."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            state, _, group = entry.read_text(errors="replace").rpartition(")")[2].split()[:3]
            yield int(group), state


@contextlib.contextmanager
def received(handle: Callable[[int], None]) -> Iterator[None]:
    """While entered, signals are given to `handle`; outside the main thread the program around us decides."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def receive(number: int, frame: FrameType | None) -> None:
        handle(number)

    earlier = {number: signal.signal(number, receive) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def binary_output() -> BinaryIO:
    """The bytes behind what `print` prints to."""
    return getattr(sys.stdout, "buffer", None) or open(os.devnull, "wb")  # noqa: PTH123
