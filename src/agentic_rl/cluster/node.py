"""Which row of hosts.conf this machine is: by the addresses that it can bind, without asking another program."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

from agentic_rl.backends.errors import ClusterError
from agentic_rl.config.aura.hosts import HostsFile, Node

_ANY_BINDS = ("/proc/sys/net/ipv4/ip_nonlocal_bind", "/proc/sys/net/ipv6/ip_nonlocal_bind")
_DISCARD = 9
"""A port to which nothing is sent: a datagram socket that is connected only says which way it would take."""


def own_node(hosts: HostsFile, index: int | None = None) -> Node:
    """The row of this machine, or the one with `index`.

    Raises:
        ClusterError: no row is, or several are.
    """
    if index is not None:
        named = [node for node in hosts.nodes if node.index == index]
        if named:
            return named[0]
        rows = ", ".join(str(node.index) for node in hosts.nodes)
        raise ClusterError(f"--node {index}: {hosts.file} has no row with that index", f"one of {rows}")
    found = [node for node in hosts.nodes if is_own(node.host)]
    if len(found) == 1:
        return found[0]
    if found:
        rows = " and ".join(f"{node.host} (line {node.line})" for node in found)
        raise ClusterError(f"several rows of {hosts.file} are this machine: {rows}", "add --node INDEX")
    listed = ", ".join(node.host for node in hosts.nodes)
    there = own_address_towards(hosts.nodes[0].host) if hosts.nodes else None
    own = f"; its address towards them is {there}" if there else ""
    raise ClusterError(
        f"no row of {hosts.file} is this machine: it has none of {listed}{own}",
        "write this machine's address into hosts.conf, on all nodes, or add --node INDEX",
    )


def is_own(host: str) -> bool:
    """Whether an address of this machine is meant; a name that can't be resolved here is none."""
    return any(_binds(family, address) for family, address in resolved(host))


def resolved(host: str) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    """The addresses of a host, for sockets; none where it can't be resolved."""
    with contextlib.suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(host, 0, type=socket.SOCK_DGRAM)
        return [(family, place) for family, _, _, _, place in found]
    return []


def address_of(host: str) -> str:
    """The numeric address of a host.

    Raises:
        ClusterError: it can't be resolved.
    """
    for _, place in resolved(host):
        return str(place[0])
    raise ClusterError(f"{host} of hosts.conf can't be resolved here", "write its address, or add it to /etc/hosts")


def own_address_towards(host: str) -> str | None:
    """The address from which this machine would send to a host; None where there is no way. Nothing is sent."""
    for family, place in resolved(host):
        with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((place[0], _DISCARD, *place[2:]))
            return str(probe.getsockname()[0])
    return None


def _binds(family: socket.AddressFamily, place: tuple[object, ...]) -> bool:
    if _anything_binds():
        return str(place[0]) == own_address_towards(str(place[0]))  # to itself a machine sends from that very address
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind(place)
        return True
    return False


def _anything_binds() -> bool:
    """Whether the system lets programs bind addresses that it does not have, as load balancers want it."""
    for name in _ANY_BINDS:
        with contextlib.suppress(OSError):
            if Path(name).read_text(encoding="ascii").strip() == "1":
                return True
    return False
