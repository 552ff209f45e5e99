"""The socket that the service listens on."""

from __future__ import annotations

import socket

from agentic_rl.serve.findings import ADDRESS_TAKEN, error

_BACKLOG = 2048


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens; the port is taken before anything else is started.

    Raises:
        ConfigError: it can't be had.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            bound.listen(_BACKLOG)
        except OSError:
            bound.close()
            raise
    except OSError as problem:
        message = f"{host}:{port} can't be listened on: {problem.strerror or problem}"
        raise error(
            ADDRESS_TAKEN, "serve_conf.port", message, f"ss -ltnp 'sport = :{port}'  # shows who does"
        ) from None
    bound.setblocking(False)
    return bound
