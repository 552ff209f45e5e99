"""The first column of hosts.conf: an address or a host name, and what only stands for one."""

from __future__ import annotations

import re
from typing import NamedTuple

from agentic_rl.config.addresses import address_of

_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?)*\.?"
)
_NUMBERS = re.compile(r"[0-9.]+")
_PLACEHOLDER = re.compile(
    r".*[<>{}$*].*|(.*\.)?x+(\.x+)*|(your|my|the)?[_-]?(this|host|node|master|worker|train|infer|server|machine)?"
    r"[_-]?\d*[_-]?(ip|addr|address|host|hostname)[_-]?\d*",
    re.IGNORECASE | re.DOTALL,
)


class Offence(NamedTuple):
    """Why a text can't be a node's address, and what to write."""

    message: str
    hint: str


def offence(host: str) -> Offence | None:
    """What is wrong with `host` as the address of a node, if anything."""
    hint = "write the node's own address or host name: 192.0.2.10, 2001:db8::10 or node-0"
    if not host:
        return Offence("no host; a row begins with the node's address", hint)
    if host.startswith("[") and host.endswith("]"):
        return Offence(f"{host!r} has brackets; an address stands without them here", f"write {host[1:-1]}")
    if _PLACEHOLDER.fullmatch(host):
        return Offence(f"{host!r} is a placeholder; a node is found by its own address", hint)
    address = address_of(host)
    if address is None:
        return _offence_of_name(host, hint)
    if address.is_unspecified or address.is_multicast or str(address) == "255.255.255.255":
        return Offence(f"{host} is no address of a single machine", hint)
    return None


def _offence_of_name(host: str, hint: str) -> Offence | None:
    if _NUMBERS.fullmatch(host):
        return Offence(f"{host} is no IPv4 address; it has four numbers from 0 to 255", hint)
    if ":" in host and not _NAME.fullmatch(host):
        port = host.rpartition(":")
        if port[2].isdigit() and ":" not in port[0]:
            return Offence(f"{host!r} has a port; a row has none", f"write {port[0]}")
    if not _NAME.fullmatch(host):
        return Offence(f"{host[:60]!r} is neither an address nor a host name", hint)
    return None
