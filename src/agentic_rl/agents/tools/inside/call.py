"""One call: a process that watches, and below it the process of the code."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from . import code, folders, kernel, landlock, limits, namespaces, seccomp

NAMESPACES, LANDLOCK, WEAK = "namespaces", "landlock", "weak"
"""The ways to keep code apart, the strongest first."""

_LOOK_EVERY = 0.1
"""Seconds between looks at the size of a folder that is no file system of its own."""


@dataclass(frozen=True)
class Setting:
    """What is the same for all calls of a server."""

    strength: str
    limits: limits.Limits
    state: str
    """Where folders of calls are made, if they have no file system of their own."""
    readable: tuple[str, ...]
    devices: tuple[str, ...]
    proc: int
    """A handle of /proc, where the code sees none."""
    user: int
    group: int
    """Those of the server, once it has given up root."""


def fork(setting: Setting) -> int:
    """Fork the server for a call; 0 in the child, which calls `run`."""
    return namespaces.fork_for_call() if setting.strength == NAMESPACES else os.fork()


class _Channel:
    """The other end is held by whoever asked: it sends the code, hears how it ended, and hangs up to stop it."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def code(self) -> str:
        size = int.from_bytes(self._exactly(4), "big")
        return self._exactly(size).decode("utf-8", "replace")

    def _exactly(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            part = os.read(self.handle, size - len(received))
            if not part:
                raise EOFError("nobody waits for this call")
            received += part
        return received

    def tell(self, text: str) -> None:
        with contextlib.suppress(OSError):  # nobody may be waiting any more
            os.write(self.handle, text.encode())


def run(setting: Setting, control: int, output: int) -> None:
    """Run one call in the calling process, a fork of the server, and end it."""
    channel = _Channel(control)
    try:
        folder = _apart(setting)
    except OSError as error:
        channel.tell(f"failed {error.strerror or error}")
        return
    try:
        _watch(setting, channel, output, folder)
    except EOFError:
        return
    except OSError as error:
        channel.tell(f"failed {error.strerror or error}")
    finally:
        if setting.strength != NAMESPACES:
            folders.remove(folder)


def _apart(setting: Setting) -> str:
    """Make the call's folder, and what keeps its processes together."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if setting.strength != NAMESPACES:
        os.setsid()
        kernel.adopt_orphans()
        return tempfile.mkdtemp(dir=setting.state)
    # This is the first process of a pid namespace: with its end, the kernel kills all others in it, and no signal
    # from among them reaches it.
    namespaces.settle_for_call(setting.proc, setting.user, setting.group, setting.limits)
    os.setsid()
    return namespaces.FOLDER


def _watch(setting: Setting, channel: _Channel, output: int, folder: str) -> None:
    text = channel.code()
    ended, wake = os.pipe()
    os.set_blocking(ended, False)
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    child = os.fork()
    if child == 0:
        _become(setting, text, output, folder)
    os.close(output)
    try:
        reason = _wait(setting, channel, ended, child, folder)
    finally:
        if setting.strength != NAMESPACES:
            _kill(child, alone=setting.strength == LANDLOCK)
    channel.tell(reason)


def _wait(setting: Setting, channel: _Channel, ended: int, child: int, folder: str) -> str:
    """Wait for the end of the code, of its time, or of the interest in it; return what it was."""
    own_folder = setting.strength == NAMESPACES
    end = time.monotonic() + setting.limits.seconds
    poll = select.poll()
    poll.register(channel.handle, select.POLLIN)
    poll.register(ended, select.POLLIN)
    while True:
        status = _reap(child)
        if status is not None:
            return f"signal {-status}" if status < 0 else f"exit {status}"
        left = end - time.monotonic()
        if left <= 0:
            return "time"
        events = poll.poll(1000 * (left if own_folder else min(left, _LOOK_EVERY)))
        if any(handle == channel.handle for handle, _ in events):
            return "unwanted"
        with contextlib.suppress(BlockingIOError):
            os.read(ended, 512)
        if not own_folder and folders.too_large(folder, setting.limits.files, setting.limits.folder_size):
            return "folder"


def _reap(child: int) -> int | None:
    """Collect ended processes, orphans too; return the status of `child` if it is among them."""
    status = None
    while True:
        try:
            pid, how = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return status
        if pid == 0:
            return status
        if pid == child:
            status = os.waitstatus_to_exitcode(how)


def _kill(child: int, *, alone: bool) -> None:
    """Kill the code, and, where it may not have been `alone`, those that are left of its processes."""
    with contextlib.suppress(OSError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.kill(child, signal.SIGKILL)
    while True:
        _reap(child)
        children = [] if alone else _children()
        if not children:
            return
        for one in children:
            with contextlib.suppress(OSError):
                os.kill(one, signal.SIGKILL)
        time.sleep(0.001)


def _children() -> list[int]:
    """Return the children of this process; orphans among its descendants become its children."""
    me, found = str(os.getpid()), []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError):
            after_name = stat.read_text(encoding="latin-1").rpartition(")")[2].split()
            if after_name[1] == me:
                found.append(int(stat.parent.name))
    return found


def _become(setting: Setting, text: str, output: int, folder: str) -> None:
    """Become the process of the code; does not return."""
    status = 70
    try:
        _take_place(output, folder)
        limits.apply(setting.limits, count_processes=setting.strength == NAMESPACES)
        _give_up_rights(setting, folder)
        status = code.run(text)
        sys.stdout.flush()
    except BaseException as error:  # the code may have closed or replaced anything
        with contextlib.suppress(BaseException):
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        status = status or 1
    finally:
        os._exit(status)


def _take_place(output: int, folder: str) -> None:
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.closerange(3, 1024)
    kernel.set_dumpable(False)  # a crash is no matter for whoever collects those of this machine
    os.chdir(folder)
    os.umask(0o077)
    os.environ.update(HOME=folder, TMPDIR=folder, PWD=folder)
    code.open_streams()
    numbers = sys.modules.get("numpy.random")
    if numbers is not None:  # else every call would draw the same
        numbers.seed()


def _give_up_rights(setting: Setting, folder: str) -> None:
    alone = None if setting.strength == NAMESPACES else os.getpid()
    allowed_to_fail = setting.strength == WEAK
    with contextlib.suppress(*([OSError] if allowed_to_fail else [])):
        kernel.gain_nothing_from_programs()
        kernel.drop_capabilities()
    if alone is not None:
        with contextlib.suppress(*([OSError] if allowed_to_fail else [])):
            landlock.restrict(setting.readable, setting.devices, folder)
    with contextlib.suppress(*([OSError, KeyError] if allowed_to_fail else [])):
        kernel.filter_system_calls(seccomp.program(alone))
