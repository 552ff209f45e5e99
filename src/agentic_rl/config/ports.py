"""Trying a port of this machine."""

from __future__ import annotations

import socket


def why_not_bound(port: int) -> OSError | None:
    """What the system says to one who would listen on a port, on any address; None where it is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # what is left of closed connections does not count
        try:
            probe.bind(("", port))
        except OSError as error:
            return error
    return None
