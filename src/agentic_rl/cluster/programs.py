"""Programs that a node keeps running beside its job: each in a group of its own, which alone is ended."""

from __future__ import annotations

import os
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from agentic_rl.backends.errors import ClusterError
from agentic_rl.cluster.children import Child, Command
from agentic_rl.cluster.supervise import last_error

LOOK_SECONDS = 0.2
CONNECT_SECONDS = 2.0
END_SECONDS = 30.0


class StoppedError(Exception):
    """A signal came while something was waited for."""


class Program:
    """One program, with a log. It is ended when the block is left."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        out: BinaryIO | None = None,
    ) -> None:
        self.name = name
        self.log = log
        self.begin = log.stat().st_size if log.exists() else 0
        """Where its own part of the log begins."""
        self._silence = open(os.devnull, "wb")  # noqa: PTH123, SIM115 - closed in `_finish`
        self._child: Child | None = Child(Command(name, arguments, log, environment or {}), out or self._silence)
        self.status: int | None = None
        """How it ended, as a shell gives it; None while it runs."""

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    @property
    def runs(self) -> bool:
        """Whether it does; passes on what it wrote."""
        if self._child is None:
            return False
        gone = self._child.gone()
        self._child.print_new()
        if gone:
            self._finish()
        return not gone

    def last_words(self) -> str:
        """The last error in its log."""
        return last_error(self.log, self.begin)

    def signal(self, number: int) -> None:
        """Send a signal, if it still runs: SIGKILL to its group, another one to itself, which knows its own."""
        if self._child is not None:
            self._child.signal(number)

    def end(self, seconds: float = END_SECONDS) -> None:
        """Ask it to end, and kill it with its group when it has not within `seconds`."""
        self.signal(signal.SIGTERM)
        end = time.monotonic() + seconds
        while self.runs:
            if time.monotonic() > end:
                self.signal(signal.SIGKILL)
            time.sleep(LOOK_SECONDS)

    def _finish(self) -> None:
        if self._child is not None:
            self.status = self._child.finish(END_SECONDS)
            self._child = None
        self._silence.close()


def wait_for(
    condition: Callable[[], bool], seconds: float, stopping: Callable[[], bool], *, look: float = LOOK_SECONDS
) -> bool:
    """Whether a condition holds within so many seconds.

    Raises:
        StoppedError: a signal came meanwhile.
    """
    end = time.monotonic() + seconds
    while not condition():
        if stopping():
            raise StoppedError
        if time.monotonic() > end:
            return False
        time.sleep(look)
    return True


def answers(address: str) -> bool:
    """Whether something listens at `host:port`."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, UnicodeError, ValueError):
        return False
    return True


def is_healthy(url: str) -> bool:
    """Whether a service answers that it is well; no proxy is asked."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=CONNECT_SECONDS) as answer:
            return bool(200 <= answer.status < 300)
    except (OSError, ValueError, urllib.error.URLError):
        return False


def require_free(ports: Sequence[int]) -> None:
    """Refuse ports on which something listens.

    Raises:
        ClusterError: one is taken.
    """
    for port in ports:
        for family, host in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):  # noqa: S104 - only tried
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((host, port))
                    probe.listen(1)
                except OSError as error:
                    if family == socket.AF_INET6:  # not every machine has it
                        continue
                    raise ClusterError(
                        f"port {port} can't be opened: {error.strerror}",
                        f"ss -ltnp 'sport = :{port}' names the process that has it; or take another port",
                    ) from error
