"""Addresses and names of machines: which of them mean the machine itself."""

from __future__ import annotations

import ipaddress


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that a text is, with or without the brackets of a URL; None: it is a name."""
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def canonical(host: str) -> str:
    """The form in which two spellings of one address or name are equal."""
    address = address_of(host)
    return str(address) if address else host.lower().rstrip(".")


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`: on every machine it means that machine itself."""
    address = address_of(host)
    return address.is_loopback if address else canonical(host) == "localhost"


def name_in(header: str) -> str:
    """The name in a header `Host` of HTTP, without the port."""
    return header.partition("]")[0].strip("[") if header.startswith("[") else header.partition(":")[0]
