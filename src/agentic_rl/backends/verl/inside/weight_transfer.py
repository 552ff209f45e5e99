"""The way of the weights from the trainer into the engine ends within bounded time, and a failure tells its cause.

Both sides are processes of one machine that talk through a socket file; the engine leaves its error beside that file.
"""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentic_rl.backends.errors import WeightTransferError
from agentic_rl.backends.verl.inside.names import RUN

LIMIT = "AGENTIC_RL_WEIGHT_TRANSFER_SECONDS"
"""Environment variable: how long the engine may take for one bucket of weights."""
DEFAULT_LIMIT = 600.0
POLL_MILLISECONDS = 500
SCHEME = "ipc://"
STARTED = time.time() - 1.0
"""About when this process began, with a second for a coarse clock of the file system."""


def of_this_run(address: str) -> str:
    """The address with the name of this run in it: verl's own repeats from one Ray to the next on a machine."""
    run = os.environ.get(RUN, "")
    folder, slash, name = address.rpartition("/")
    return address if not run or name.startswith(run) else f"{folder}{slash}{run}-{name}"


def failure_file(address: str) -> Path:
    """Where the engine says why it could not take the weights that were sent to `address`."""
    return Path(f"{address.removeprefix(SCHEME)}.failed")


class PatientSocket:
    """The sender's socket: it looks for the engine's failure while it waits, and does not wait for ever."""

    def __init__(self, socket: Any, address: str, limit: float) -> None:
        self._socket = socket
        self._file = failure_file(address)
        self._limit = limit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def recv(self, *arguments: Any, **keywords: Any) -> Any:
        """Wait for the engine's answer.

        Raises:
            WeightTransferError: the engine failed, or did not answer in time.
        """
        self._wait(_zmq().POLLIN)
        return self._socket.recv(*arguments, **keywords)

    def send_pyobj(self, *arguments: Any, **keywords: Any) -> Any:
        """Wait until the engine is there (a socket to which nobody has connected holds the sender), then send.

        Raises:
            WeightTransferError: the engine failed, or was not there in time.
        """
        self._wait(_zmq().POLLOUT)
        return self._socket.send_pyobj(*arguments, **keywords)

    def _wait(self, event: int) -> None:
        deadline = time.monotonic() + self._limit
        while not self._socket.poll(POLL_MILLISECONDS, event):
            self._look_for_failure()
            if time.monotonic() > deadline:
                self._give_up(f"the engine did not take the weights within {self._limit:g} s")

    def _look_for_failure(self) -> None:
        try:
            # The engine may have failed before this socket was made. What is older than this process is of another run.
            told = self._file.read_text(encoding="utf-8") if self._file.stat().st_mtime >= STARTED else None
        except FileNotFoundError:
            return
        if told is not None:
            with contextlib.suppress(OSError):
                self._file.unlink()
            self._give_up(f"the engine could not take the weights: {told.strip()}")

    def _give_up(self, message: str) -> None:
        self._socket.setsockopt(_zmq().LINGER, 0)  # what was sent to nobody must not hold the process back
        raise WeightTransferError(message, f"the engine's log has the details; {LIMIT} sets the limit in seconds")


def bound_the_sender(module: Any) -> None:
    """Give the senders of verl's module a `PatientSocket`."""
    sender = module.BucketedWeightSender
    initialize: Callable[[Any], None] = sender._init_socket

    def with_patience(self: Any) -> None:
        self.zmq_handle = of_this_run(self.zmq_handle)
        initialize(self)
        self.socket = PatientSocket(self.socket, self.zmq_handle, float(os.environ.get(LIMIT, DEFAULT_LIMIT)))

    sender._init_socket = with_patience


def tell_failure(address: str, error: BaseException) -> None:
    """Leave `error` for the sender, whole at once: its reader may look at any moment."""
    while isinstance(error, BufferError) and error.__context__ is not None:
        error = error.__context__  # verl could not close the shared memory, since the first error still refers to it
    file = failure_file(address)
    unfinished = file.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):  # the sender then waits for its limit; `error` itself must not be hidden
        unfinished.write_text("".join(traceback.format_exception_only(type(error), error)), encoding="utf-8")
        unfinished.replace(file)


def _zmq() -> Any:
    import zmq

    return zmq
