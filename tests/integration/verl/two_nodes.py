"""Two network namespaces as two nodes: own addresses, own ports, one wire between them. Needs root."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from tiny_verl_project import environment

NO_TOKEN = {"RAY_AUTH_MODE": "", "RAY_AUTH_TOKEN": ""}
"""Of every process on the nodes: launching makes a token of its own."""


@dataclass(frozen=True)
class Node:
    """One namespace."""

    space: str
    address: str

    def start(
        self, *command: str, log: Path, cwd: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Start a command on this node, in a process group of its own; its output goes to `log`."""
        with log.open("w") as to:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.space, *command],
                cwd=cwd,
                env={**environment(), **NO_TOKEN, **(variables or {})},
                stdout=to,
                stderr=to,
                text=True,
                start_new_session=True,
            )

    def running(self) -> set[str]:
        """What runs here, as the system shows it."""
        names = set()
        for process in _below(self):
            with contextlib.suppress(psutil.NoSuchProcess):
                names.update(" ".join(process.cmdline()).split()[:1])  # none of one that has just ended
        return names


def _below(node: Node) -> list[psutil.Process]:
    listed = subprocess.run(["ip", "netns", "pids", node.space], capture_output=True, text=True, check=True)
    found = []
    for number in listed.stdout.split():
        with contextlib.suppress(psutil.NoSuchProcess):
            found.append(psutil.Process(int(number)))
    return found


def why_not() -> str:
    """Why namespaces can't be made here; empty where they can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "the command ip is missing"
    made = subprocess.run(["ip", "netns", "add", f"arl-{os.getpid()}"], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "delete", f"arl-{os.getpid()}"], capture_output=True, check=False)
    return f"network namespaces can't be made: {made.stderr.strip()}" if made.returncode else ""


@contextlib.contextmanager
def two_nodes() -> Iterator[tuple[Node, Node]]:
    """The nodes as long as the block runs; what is still running in them then is ended, process by process."""
    name = f"arl{os.getpid()}"
    nodes = Node(f"{name}a", "10.213.77.1"), Node(f"{name}b", "10.213.77.2")
    with contextlib.ExitStack() as undo:
        for node in nodes:
            _ip("netns", "add", node.space)
            undo.callback(_remove, node)
        first, second = nodes
        _ip("link", "add", f"{name}a", "netns", first.space, "type", "veth", "peer", f"{name}b", "netns", second.space)
        for node, other in ((first, second), (second, first)):
            _ip("-n", node.space, "address", "add", f"{node.address}/24", "dev", node.space)
            _ip("-n", node.space, "link", "set", node.space, "up")
            _ip("-n", node.space, "link", "set", "lo", "up")
            _ip("-n", node.space, "route", "add", "default", "via", other.address)  # by it Ray finds its own address
        yield nodes


def _remove(node: Node) -> None:
    left = _below(node)
    for process in left:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=10)
    _ip("netns", "delete", node.space)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
