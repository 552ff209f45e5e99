"""The address by which the processes of one node are reached; loopback where the whole of Ray is on this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

HOST = "VLLM_HOST_IP"
INTERFACE = "GLOO_SOCKET_IFNAME"
"""What vLLM and gloo listen on: else they ask the system, which may name an interface that leads elsewhere."""
LOOPBACK = "127.0.0.1"


def own_address() -> str:
    """The address that Ray knows this node by; loopback in a process that is none of Ray's."""
    import ray

    return ray.util.get_node_ip_address().strip("[]") if ray.is_initialized() else LOOPBACK


def on_loopback() -> bool:
    """Whether all processes of the run are on this machine, as far as this one can tell."""
    return ipaddress.ip_address(own_address()).is_loopback


def listen_at_own_address(environ: MutableMapping[str, str]) -> None:
    """Let vLLM and gloo listen at the node's own address, unless `environ` says where."""
    if HOST in environ and INTERFACE in environ:  # set by a person, or by the process that started this one
        return
    address = own_address()
    environ.setdefault(HOST, address)
    interface = interface_of(address, _interfaces())
    if interface is not None:
        environ.setdefault(INTERFACE, interface)


def interface_of(address: str, interfaces: Mapping[str, Iterable[str]]) -> str | None:
    """The name of the interface with `address`; None where no one has it."""
    wanted = ipaddress.ip_address(address)
    for name, addresses in interfaces.items():
        if any(ipaddress.ip_address(one.partition("%")[0]) == wanted for one in addresses):
            return name
    return None


def _interfaces() -> dict[str, list[str]]:
    import psutil

    families = (socket.AF_INET, socket.AF_INET6)
    every: Mapping[str, list[Any]] = psutil.net_if_addrs()
    return {name: [one.address for one in ones if one.family in families] for name, ones in every.items()}
