"""What stands between processes of one machine: ports, proxies, interfaces, a Ray that runs or is left over."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentic_rl.config.ports import why_not_bound
from agentic_rl.machine.observation import Observation

PORTS = (4001, 4002, 8030, 8080, 6344)
"""The ports that the documented start scripts and services take."""
LOOPBACK = ("127.0.0.1", "localhost")
_PROXIES = ("http_proxy", "https_proxy", "all_proxy")
_INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME", "HCCL_SOCKET_IFNAME")
_SECONDS = 1.0


def check_ports(own: Iterable[int] = ()) -> list[Observation]:
    """Whether the documented ports, and those of a file, are free."""
    wanted = dict.fromkeys((*own, *PORTS))
    return [check_port(port, f"free; {'the file names it' if port in own else 'a documented port'}") for port in wanted]


def check_port(port: int, rule: str) -> Observation:
    """Whether nothing listens on a port, on any address of this machine."""
    name = f"port {port}"
    error = why_not_bound(port)
    if error is None:
        return Observation(name, "ok", "free", rule)
    if error.errno == errno.EADDRINUSE:
        remedy = f"ss -ltnp 'sport = :{port}' names the process; stop it, or take another port"
        return Observation(name, "warning", "in use", rule, remedy)
    return Observation(name, "unknown", f"can't be tried: {error.strerror}", rule)


def ports_of(tree: object) -> Iterator[int]:
    """The numbers in a configuration whose keys are `port` or end with `_port`."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, list):
            pending += node
        elif isinstance(node, dict):
            for key, value in node.items():
                named = isinstance(key, str) and (key == "port" or key.endswith("_port"))
                if named and type(value) is int and 0 < value < 1 << 16:
                    yield value
                elif isinstance(value, (dict, list)):
                    pending.append(value)


def check_proxies(environ: Mapping[str, str]) -> Observation:
    """Whether a proxy would catch what processes of this machine send each other."""
    rule = f"no_proxy names {' and '.join(LOOPBACK)} where a proxy is set"
    proxies = [name for lower in _PROXIES for name in (lower, lower.upper()) if environ.get(name)]
    if not proxies:
        return Observation("proxies", "ok", "none set", rule)
    exceptions = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    caught = [host for host in LOOPBACK if not _excepted(host, exceptions)]
    value = f"{', '.join(proxies)} set"
    if caught:
        remedy = f"export no_proxy={','.join(filter(None, [exceptions, *caught]))}"
        return Observation("proxies", "warning", f"{value}; {' and '.join(caught)} would go through it", rule, remedy)
    return Observation("proxies", "ok", value, rule)


def _excepted(host: str, exceptions: str) -> bool:
    return any(_matches(host, item.strip().lstrip(".")) for item in exceptions.split(","))


def _matches(host: str, item: str) -> bool:
    if item in ("*", host):
        return True
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(item, strict=False)
    except ValueError:  # a name, not a network
        return False


def check_interfaces(environ: Mapping[str, str]) -> list[Observation]:
    """Whether the network interfaces that the environment names are there."""
    present = [name for _, name in socket.if_nameindex()]
    set_here = (name for name in _INTERFACES if environ.get(name))
    return [_check_interface(name, environ[name], present) for name in set_here]


def _check_interface(variable: str, value: str, present: list[str]) -> Observation:
    rule = f"an interface of this machine: {', '.join(present)}"
    if _chosen(variable, value, present):
        return Observation(variable, "ok", value, rule)
    remedy = f"export {variable}={next((name for name in present if name != 'lo'), 'lo')}"
    return Observation(variable, "error", f"{value} names none", rule, remedy)


def _chosen(variable: str, value: str, present: list[str]) -> list[str]:
    """The interfaces that a value chooses: `^` leaves out; NCCL and HCCL take beginnings, and `=` whole names."""
    exact = variable.startswith("GLOO") or "=" in value[:2]
    names = tuple(name.strip() for name in value.lstrip("^=").split(",") if name.strip())
    fits = [name for name in present if (name in names if exact else name.startswith(names))]
    return [name for name in present if name not in fits] if value.startswith("^") else fits


def check_ray(environ: Mapping[str, str]) -> Observation:
    """Whether a Ray cluster answers, or only left its address behind."""
    file = Path(environ.get("RAY_TMPDIR") or "/tmp") / "ray" / "ray_current_cluster"  # noqa: S108 - Ray's own place
    rule = "the address that Ray keeps in its folder is answered"
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            address = opened.read(200).strip()
    except FileNotFoundError:
        return Observation("ray", "ok", "not running here", rule)
    except OSError as error:
        return Observation("ray", "unknown", f"{file} can't be read: {error.strerror}", rule)
    if _answers(address):
        return Observation("ray", "ok", f"up at {address}: a run joins it", rule)
    remedy = f"ray stop --force; rm -f {file}"
    return Observation("ray", "warning", f"stale: {file} names {address!r}, where nothing answers", rule, remedy)


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    if not (host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
        return False
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_SECONDS):
            return True
    except (OSError, UnicodeError):
        return False
