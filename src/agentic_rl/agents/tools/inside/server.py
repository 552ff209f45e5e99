"""A small Python process that forks itself for each call. Whoever hangs up ends it, and with it all calls."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import importlib
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from . import call, files, folders, kernel, landlock, namespaces, seccomp
from .limits import Limits

_LOOK_EVERY = 1.0
"""Seconds between looks at whether the process that started the server is still there."""


def main() -> None:
    """Start with the options of the command line, as JSON."""
    options: dict[str, Any] = json.loads(sys.argv[1])
    connection = socket.socket(fileno=options["socket"])
    try:
        _start(options, connection)
    except (OSError, ImportError, KeyError) as error:
        text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        connection.send(json.dumps({"missing": text}).encode())
        sys.exit(1)


def _start(options: dict[str, Any], connection: socket.socket) -> None:
    setting = call.Setting(
        options["strength"],
        Limits(**options["limits"]),
        options["state"],
        tuple(files.readable()),
        tuple(files.devices()),
        os.open("/proc", os.O_PATH | os.O_DIRECTORY),
        os.geteuid(),
        os.getegid(),
    )
    with contextlib.suppress(OSError):
        # Where memory runs out, this is what the kernel should take first.
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getppid()
    if setting.strength == call.NAMESPACES:
        stranger = namespaces.enter(setting.state)
        server = os.fork()
        if server:
            connection.close()
            _wait_for(server, parent)
        namespaces.settle(setting.state, stranger)
        seccomp.program()  # it is kept for the calls
        kernel.die_with_parent()
        parent = 0  # the parent of the first process, as seen from inside
    else:
        _without_namespaces(setting)
    for module in options["preload"]:
        importlib.import_module(module)
    _serve(dataclasses.replace(setting, user=os.geteuid(), group=os.getegid()), connection, parent)
    folders.remove(setting.state)


def _without_namespaces(setting: call.Setting) -> None:
    if setting.strength == call.LANDLOCK:
        found = landlock.version()
        if found < landlock.ENOUGH:
            raise OSError(0, f"Landlock: version {found} of its interface, {landlock.ENOUGH} (Linux 6.2) is needed")
        if not seccomp.known_machine():
            raise OSError(0, f"seccomp: the calls of {os.uname().machine} are not known")
    try:
        _no_longer_root(setting.state)
    except OSError as error:
        if setting.strength == call.LANDLOCK:
            raise OSError(error.errno, f"an unprivileged user in place of root: {error}") from error


def _no_longer_root(state: str) -> None:
    """Become an unprivileged user, if that one may read Python's own folder: it may lie below root's home."""
    if os.geteuid() != 0:
        return
    stranger = namespaces.unprivileged_id()
    if stranger is None:
        raise PermissionError(1, "root is the only user there is")
    os.seteuid(stranger)
    try:
        next(Path(os.__file__).parent.iterdir())
    finally:
        os.seteuid(0)
    os.chown(state, stranger, stranger)
    namespaces.become(stranger)


def _wait_for(server: int, parent: int) -> None:
    """Stay as long as the server; kill it when the process that wanted it is gone without hanging up."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    while os.waitpid(server, os.WNOHANG)[0] == 0:
        if os.getppid() != parent:
            os.kill(server, signal.SIGKILL)
        signal.sigtimedwait({signal.SIGCHLD}, _LOOK_EVERY)
    os._exit(0)


def _serve(setting: call.Setting, connection: socket.socket, parent: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody asks how a call's process ended: the kernel forgets it
    connection.send(json.dumps({"ready": setting.strength}).encode())
    connection.settimeout(_LOOK_EVERY)
    gc.collect()
    gc.freeze()
    while os.getppid() == parent:
        try:
            asked, handles, _, _ = socket.recv_fds(connection, 1, 2)
        except TimeoutError:
            continue
        if not asked:
            break
        _begin(setting, connection, *handles)
        for handle in handles:
            os.close(handle)


def _begin(setting: call.Setting, connection: socket.socket, control: int, output: int) -> None:
    try:
        if call.fork(setting):
            return
    except OSError as error:
        with contextlib.suppress(OSError):  # whoever asked may be gone
            os.write(control, f"failed {error.strerror}".encode())
        return
    try:
        connection.close()
        call.run(setting, control, output)
    finally:
        os._exit(0)
