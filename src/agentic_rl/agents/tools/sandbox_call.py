"""One call of the sandbox, from the event loop's side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass

from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.tools.inside.limits import MEBIBYTE, Limits

_GRACE = 10.0
"""Seconds over the limit after which the server itself must be broken."""
_CATCH_UP = 0.002
"""Seconds between attempts to hand a call to a server that is behind."""


@dataclass(frozen=True)
class Outcome:
    """What the code left."""

    output: str
    """What it wrote to standard output and standard error, in order."""
    problem: str = ""
    """Why it was stopped, in words for the model; empty when it ended by itself."""
    status: int = 0
    """The status with which it ended by itself: 1 after an exception."""

    @property
    def ok(self) -> bool:
        """Whether the code ran to its end."""
        return not self.problem and self.status == 0


async def perform(send: Callable[[int, int], None], code: bytes, limits: Limits) -> Outcome:
    """Run `code` and wait until none of its processes is left.

    Args:
        send: hands the two ends of a call to the server.
        code: at most `limits.code` bytes of it.
        limits: those of the server.

    Raises:
        OSError: the server is gone.
        LateError: it did not keep to the limits, so it must be broken.
    """
    control, theirs = socket.socketpair()
    output, written = os.pipe()
    try:
        try:
            control.setblocking(False)
            await _hand_over(send, theirs.fileno(), written)
        finally:
            theirs.close()
            os.close(written)
        with Deadline(limits.seconds + _GRACE, "the code"):
            await asyncio.get_running_loop().sock_sendall(control, len(code).to_bytes(4, "big") + code)
            with _Listening(control, output, limits.output) as listening:
                await listening.ended
        return _outcome(listening, limits)
    finally:
        control.close()
        os.close(output)


async def _hand_over(send: Callable[[int, int], None], control: int, output: int) -> None:
    while not _sent(send, control, output):
        await asyncio.sleep(_CATCH_UP)


def _sent(send: Callable[[int, int], None], control: int, output: int) -> bool:
    try:
        send(control, output)
    except BlockingIOError:
        return False
    return True


class _Listening:
    """Collects what the code writes, and how it ended; `ended` is done when all that could write is gone."""

    def __init__(self, control: socket.socket, output: int, most: int) -> None:
        self._control = control
        self._output = output
        self._most = most
        self._open = {control.fileno(), output}
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        self.written = bytearray()
        self.too_much = False
        self.report = b""

    def __enter__(self) -> _Listening:
        os.set_blocking(self._output, False)
        self._loop.add_reader(self._output, self._on_output)
        self._loop.add_reader(self._control.fileno(), self._on_report)
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._open:
            self._loop.remove_reader(handle)

    def _on_output(self) -> None:
        try:
            part = os.read(self._output, 65536)
        except BlockingIOError:
            return
        left = self._most - len(self.written)
        self.written += part[:left]
        if not part:
            self._closed(self._output)
        elif len(part) > left and not self.too_much:
            self.too_much = True
            with contextlib.suppress(OSError):  # it may just have ended
                self._control.shutdown(socket.SHUT_WR)  # this stops the code

    def _on_report(self) -> None:
        try:
            part = self._control.recv(4096)
        except BlockingIOError:
            return
        except OSError:
            part = b""
        self.report += part
        if not part:
            self._closed(self._control.fileno())

    def _closed(self, handle: int) -> None:
        self._loop.remove_reader(handle)
        self._open.discard(handle)
        if not self._open and not self.ended.done():
            self.ended.set_result(None)


def _outcome(listening: _Listening, limits: Limits) -> Outcome:
    output = listening.written.decode("utf-8", "replace")
    word, _, rest = listening.report.decode("utf-8", "replace").partition(" ")
    if listening.too_much:
        return Outcome(output, f"stopped, because it printed more than {limits.output} bytes")
    if word == "exit":
        return Outcome(output, status=int(rest))
    if word == "signal":
        return Outcome(output, _killed(int(rest), limits))
    reasons = {
        "time": f"stopped after {limits.seconds:g} s; make it faster",
        "folder": f"stopped, because its files took more than {limits.folder_size // MEBIBYTE} MiB, or were more "
        f"than {limits.files}",
        "failed": f"it could not be started: {rest}",
    }
    return Outcome(output, reasons.get(word, "it could not be started, or its sandbox ended; try again"))


def _killed(number: int, limits: Limits) -> str:
    if number == signal.SIGXCPU:
        return f"stopped after {limits.cpu_seconds} s of processor time; make it faster"
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    return f"its process was killed by {name}"
