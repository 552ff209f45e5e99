"""Ray for one run: a cluster of its own on the loopback interface, or the one that `RAY_ADDRESS` names."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import shutil
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.interrupts import SIGNALS
from agentic_rl.backends.verl.demand import Demand, require
from agentic_rl.backends.verl.environment import ADDRESS, OF_JOINED_RAY, OF_OWN_RAY, OF_RAY, named_address
from agentic_rl.backends.verl.inside.patches import IN_LAUNCHER
from agentic_rl.backends.verl.leftovers import Leftovers
from agentic_rl.backends.verl.mapping import OBJECT_STORE_BYTES

LOOPBACK = "127.0.0.1"
CONNECT_SECONDS = 10.0
"""How long the head of a cluster may take to answer at all; Ray itself would try for a quarter of an hour."""
HOST_AND_PORT = re.compile(r"\[?([^\[\]]+?)\]?:([0-9]{1,5})")
SPARE_CPUS = 16
"""What a Ray of our own has beyond those of the run: its CPUs are only counted."""


class Cluster:
    """A Ray that this process is connected to."""

    def __init__(self, ray: Any, session: Path | None, note: Callable[[], None] = lambda: None) -> None:
        self.ray = ray
        self.session = session
        """The folder of its logs, where it is on this machine and ours."""
        self.note_processes = note
        """Remember what runs now, so that it is ended, and its memory removed, even where its owner is gone by then."""

    def keep_logs(self, folder: Path) -> Path | None:
        """Copy the logs of the processes to `folder`, in place of older ones; None where there are none."""
        if self.session is None or not (self.session / "logs").is_dir():
            return None
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.session / "logs", folder, symlinks=True, ignore_dangling_symlinks=True)
        return folder


@contextlib.contextmanager
def connected(demand: Demand, environ: Mapping[str, str]) -> Iterator[Cluster]:
    """Connect to Ray as long as the block runs; what was started here is ended, a cluster that was joined goes on.

    Raises:
        ClusterError: Ray can't be started or joined, or lacks the devices or CPUs.
    """
    address = named_address(environ)
    if demand.needs_cluster and not address:
        raise ClusterError(
            f"the run needs several nodes ({demand}), but {ADDRESS} names no cluster",
            f"start Ray on every node (`ray start`), then set {ADDRESS} to the head's address (10.0.0.1:6379)",
        )
    ray = _imported(own=not address)
    with _joined(ray, address) if address or ray.is_initialized() else _own(ray, demand) as cluster:
        require([node["Resources"] for node in ray.nodes() if node["Alive"]], demand)
        yield cluster


def _imported(*, own: bool) -> Any:
    """Import Ray with the settings that it reads at its import."""
    settings = {**OF_RAY, **(OF_OWN_RAY if own else OF_JOINED_RAY)}
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    return importlib.import_module("ray")


@contextlib.contextmanager
def _joined(ray: Any, address: str) -> Iterator[Cluster]:
    if ray.is_initialized():  # by the program around us, which also ends it
        yield Cluster(ray, None)
        return
    _require_answer(address)
    try:
        with _handlers_kept():
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except Exception as error:
        raise ClusterError(
            f"{ADDRESS} is {address}, but that Ray can't be joined: {_first_line(error)}",
            f"start it (`ray start --head`) with the same Ray and Python as here, or unset {ADDRESS}",
        ) from error
    try:
        yield Cluster(ray, None)
    finally:
        ray.shutdown()


def _require_answer(address: str) -> None:
    """Refuse an address at which nothing answers.

    Raises:
        ClusterError: nothing does, or it is one of Ray Client, through which processes are not watched.
    """
    remedy = f"set {ADDRESS} to the head's own address and port (10.0.0.1:6379), or unset it for a Ray of its own"
    if "://" in address:
        raise ClusterError(f"{ADDRESS} is {address}: a run is not started through Ray Client", remedy)
    place = HOST_AND_PORT.fullmatch(address)
    if place is None:  # auto, or a word that Ray refuses by itself
        return
    try:
        socket.create_connection((place[1], int(place[2])), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"{ADDRESS} is {address}, but nothing answers there: {_first_line(error)}", remedy
        ) from error


@contextlib.contextmanager
def _handlers_kept() -> Iterator[None]:
    """Put our handlers of signals back: Ray's own would end the run at once, without a checkpoint."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            if handler is not None:  # None: it was not set by Python, and Ray has not touched it
                signal.signal(number, handler)


@contextlib.contextmanager
def _own(ray: Any, demand: Demand) -> Iterator[Cluster]:
    # A folder of our own: /tmp/ray may belong to another user. Short, since Ray's sockets lie below it.
    folder = Path(tempfile.mkdtemp(prefix="ray-"))
    inner = folder / "r"  # Ray opens its own to everybody
    with Leftovers() as leftovers:
        try:
            _start(ray, demand, inner)
            yield Cluster(ray, inner / "session_latest", leftovers.note)
        finally:
            leftovers.note()
            ray.shutdown()
            leftovers.remove()
            shutil.rmtree(folder, ignore_errors=True)


def _start(ray: Any, demand: Demand, folder: Path) -> None:
    for patch in IN_LAUNCHER:
        patch()
    options: dict[str, Any] = {"num_cpus": max(os.cpu_count() or 1, demand.cpus + SPARE_CPUS)}
    if demand.device == "npu":
        options["resources"] = {"NPU": demand.all_devices}
    else:
        options["num_gpus"] = demand.all_devices
    if demand.device == "cpu":
        options["object_store_memory"] = OBJECT_STORE_BYTES
    try:
        with _handlers_kept():
            ray.init(
                address="local",
                _node_ip_address=LOOPBACK,
                _temp_dir=str(folder),
                include_dashboard=False,
                log_to_driver=False,
                logging_level="ERROR",
                **options,
            )
    except Exception as error:
        raise ClusterError(
            f"Ray can't be started: {_first_line(error)}",
            f"`agentic-rl doctor` looks at ports, shared memory and limits; or start Ray yourself and set {ADDRESS}",
        ) from error


def _first_line(error: BaseException) -> str:
    """Of the error that began it: Ray's own only says that there was one."""
    while error.__cause__ is not None:
        error = error.__cause__
    text, _, traceback = (str(error).strip() or type(error).__name__).partition("Traceback (most recent call last):")
    return f"{text.strip()} {traceback.strip().splitlines()[-1]}" if traceback else text.splitlines()[0]
