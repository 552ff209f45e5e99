"""Ray on one node of several: the head on the training master, which the others join within a bounded time."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.verl.environment import OF_JOINED_RAY, OF_RAY
from agentic_rl.cluster.plan import NodePlan, RayNode
from agentic_rl.cluster.programs import Program, answers, wait_for
from agentic_rl.config.writing import make_folder, replace_file

RAY = "import sys; from ray.scripts.scripts import main; sys.argv[0] = 'ray'; main()"
READY = "agentic_rl.cluster.ray_ready"
STARTED = "Ray runtime started"
START_SECONDS = 120.0
AGAIN_SECONDS = 2.0
TOKEN = "ray.token"  # noqa: S105 - the name of a file
MODE_VARIABLE, TOKEN_VARIABLE, TOKEN_PATH_VARIABLE = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"


@contextlib.contextmanager
def ray_on(node: NodePlan, ray: RayNode, stopping: Callable[[], bool]) -> Iterator[Program]:
    """Ray on this node as long as the block runs.

    Raises:
        ClusterError: it can't be started, or the head does not come.
        StoppedError: a signal came while it was waited for.
    """
    # A folder of our own: /tmp/ray may belong to another user. Short, since Ray's sockets lie below it.
    home = Path(tempfile.mkdtemp(prefix="ray-"))
    log = node.states / f"ray-{node.node.index}.log"
    try:
        started = _head if ray.head else _joined
        with started(ray, home / "r", log, node.join_seconds, stopping) as program:
            yield program
    finally:
        shutil.rmtree(home, ignore_errors=True)


def authentication(node: NodePlan, environ: Mapping[str, str], stopping: Callable[[], bool]) -> dict[str, str]:
    """The variables with which only nodes of this run join Ray: what the user has set, else a token.

    Raises:
        ClusterError: the training master's token does not come.
        StoppedError: a signal came while it was waited for.
    """
    if any(environ.get(name) for name in (MODE_VARIABLE, TOKEN_VARIABLE, TOKEN_PATH_VARIABLE)):
        return {}
    path = node.states / TOKEN
    if node.job and not _read(path):
        make_folder(path.parent)
        with replace_file(path) as file:
            file.write(secrets.token_hex(32).encode())
    if not wait_for(lambda: bool(_read(path)), node.join_seconds, stopping):
        raise ClusterError(
            f"the training master ({node.master.host}) has not written {path} within {node.join_seconds:g} s",
            "start the same command there; the folder has to be on storage that all nodes share (--states DIR), "
            f"or set {MODE_VARIABLE}=token and one {TOKEN_VARIABLE} on all nodes",
        )
    return {MODE_VARIABLE: "token", TOKEN_VARIABLE: _read(path)}


def await_nodes(node: NodePlan, ray: RayNode, stopping: Callable[[], bool]) -> None:
    """Wait until all nodes have joined.

    Raises:
        ClusterError: they do not.
        StoppedError: a signal came meanwhile.
    """
    count = len(node.nodes)
    arguments = [sys.executable, "-m", READY, ray.head_address, str(count), str(node.join_seconds)]
    environment = {**OF_RAY, **OF_JOINED_RAY}
    log = node.states / f"joining-{node.node.index}.log"
    with Program("joining", arguments, log, environment) as program:
        wait_for(lambda: not program.runs, node.join_seconds + START_SECONDS, stopping)
        if program.status != 0:
            others = ", ".join(f"{one.index} ({one.host})" for one in node.nodes if one != node.node)
            raise ClusterError(
                f"not all nodes joined: {program.last_words() or 'Ray does not answer'}",
                f"start the same command on the nodes {others}; their own output says what they wait for",
            )


@contextlib.contextmanager
def _head(ray: RayNode, home: Path, log: Path, seconds: float, stopping: Callable[[], bool]) -> Iterator[Program]:
    with _program(ray, home, log) as program:
        if not _is_up(program, log, min(seconds, START_SECONDS), stopping):
            raise ClusterError(
                f"Ray can't be started at {ray.head_address}: {program.last_words()}", f"{log} has all that it says"
            )
        yield program


@contextlib.contextmanager
def _joined(ray: RayNode, home: Path, log: Path, seconds: float, stopping: Callable[[], bool]) -> Iterator[Program]:
    """Join the head, again and again: it may listen before it takes nodes, or be about to be started anew."""
    end = time.monotonic() + seconds
    while True:
        if not wait_for(lambda: answers(ray.head_address), end - time.monotonic(), stopping):
            raise ClusterError(
                f"nothing answers at {ray.head_address} within {seconds:g} s",
                "start the same command on the training master, and let the port through between the machines",
            )
        with _program(ray, home, log) as program:
            if _is_up(program, log, min(max(end - time.monotonic(), 1.0), START_SECONDS), stopping):
                yield program
                return
            words = program.last_words()
        if time.monotonic() > end:
            raise ClusterError(f"the Ray at {ray.head_address} can't be joined: {words}", f"{log} has all that it says")
        wait_for(lambda: False, AGAIN_SECONDS, stopping)


def _program(ray: RayNode, home: Path, log: Path) -> Program:
    arguments = [sys.executable, "-c", RAY, "start", *ray.arguments(home)]
    return Program("ray", arguments, log, {**OF_RAY, **OF_JOINED_RAY})


def _is_up(program: Program, log: Path, seconds: float, stopping: Callable[[], bool]) -> bool:
    """Whether Ray says that it is; it writes to a log that older starts wrote to as well."""
    begin = program.begin
    return wait_for(lambda: not program.runs or _says(log, begin), seconds, stopping) and program.runs


def _says(log: Path, begin: int) -> bool:
    with contextlib.suppress(OSError), log.open("rb") as file:
        file.seek(begin)
        return STARTED.encode() in file.read()
    return False


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""


def set_here(variables: Mapping[str, str]) -> None:
    """Give variables to every program that is started from now on."""
    os.environ.update(variables)
