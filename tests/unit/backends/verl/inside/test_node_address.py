from __future__ import annotations

import pytest

from agentic_rl.backends.verl.inside import node_address
from agentic_rl.backends.verl.inside.node_address import HOST, INTERFACE, interface_of, listen_at_own_address

MACHINE = {"lo": ["127.0.0.1", "::1"], "eth0": ["10.0.0.3", "fe80::1%eth0"], "ib0": ["2001:db8::5"]}


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("127.0.0.1", "lo"),
        ("10.0.0.3", "eth0"),
        ("2001:db8:0::5", "ib0"),
        ("fe80::1", "eth0"),
        ("10.0.0.4", None),
    ],
)
def test_the_interface_of_an_address(address: str, name: str | None) -> None:
    assert interface_of(address, MACHINE) == name


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {HOST: "10.0.0.3", INTERFACE: "eth0"}),
        ({HOST: "10.9.9.9"}, {HOST: "10.9.9.9", INTERFACE: "eth0"}),
        ({INTERFACE: "bond0"}, {HOST: "10.0.0.3", INTERFACE: "bond0"}),
        ({HOST: "h", INTERFACE: "i"}, {HOST: "h", INTERFACE: "i"}),
    ],
)
def test_processes_listen_at_the_address_of_their_node(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], expected: dict[str, str]
) -> None:
    monkeypatch.setattr(node_address, "own_address", lambda: "10.0.0.3")
    monkeypatch.setattr(node_address, "_interfaces", lambda: MACHINE)
    listen_at_own_address(given)
    assert given == expected


@pytest.mark.parametrize(("address", "there"), [("127.0.0.1", True), ("::1", True), ("10.0.0.3", False)])
def test_a_ray_on_loopback_is_on_this_machine(monkeypatch: pytest.MonkeyPatch, address: str, there: bool) -> None:
    monkeypatch.setattr(node_address, "own_address", lambda: address)
    assert node_address.on_loopback() is there


def test_a_process_that_is_none_of_rays_stays_on_loopback() -> None:
    pytest.importorskip("ray")
    pytest.importorskip("psutil")
    environ: dict[str, str] = {}
    listen_at_own_address(environ)
    assert environ[HOST] == "127.0.0.1"
    assert environ[INTERFACE] in {"lo", "lo0"}
