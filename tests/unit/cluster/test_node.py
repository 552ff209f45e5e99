"""Finding this machine's row."""

from __future__ import annotations

import socket

import pytest

from agentic_rl.backends.errors import ClusterError
from agentic_rl.cluster import node
from agentic_rl.config.aura.hosts import parse_hosts

OTHERS = "192.0.2.10,0,0\n192.0.2.11,1,1\n"  # of documentation: no machine has them


def test_a_loopback_address_is_every_machines_own() -> None:
    assert node.is_own("127.0.0.1")
    assert node.is_own("localhost")
    assert not node.is_own("192.0.2.10")
    assert not node.is_own("no-such-host.invalid")
    assert not node.is_own("x" * 70)


def test_the_row_of_this_machine_is_found_by_its_address() -> None:
    own = node.own_address_towards("192.0.2.10") or "127.0.0.1"
    hosts = parse_hosts(f"192.0.2.10,0,0\n{own},1,1\n")
    assert node.own_node(hosts).index == 1


def test_by_its_name_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(host: str, *_: object, **__: object) -> list[object]:
        if host == "node-1":
            return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", ("127.0.0.1", 0))]
        raise socket.gaierror

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert node.own_node(parse_hosts("node-0,0,0\nnode-1,1,1\n")).index == 1


def test_a_machine_without_a_row_is_told_what_it_was_compared_with() -> None:
    with pytest.raises(ClusterError, match=r"it has none of 192\.0\.2\.10, 192\.0\.2\.11") as caught:
        node.own_node(parse_hosts(OTHERS))
    assert "--node INDEX" in caught.value.hint


def test_a_machine_with_two_rows_has_to_be_told() -> None:
    hosts = parse_hosts("127.0.0.1,0,0\n127.0.0.2,1,1\n")
    with pytest.raises(ClusterError, match=r"several rows .*line 1.*line 2"):
        node.own_node(hosts)
    assert node.own_node(hosts, 1).host == "127.0.0.2"


def test_an_index_that_no_row_has_is_refused() -> None:
    with pytest.raises(ClusterError, match="--node 2"):
        node.own_node(parse_hosts(OTHERS), 2)


def test_where_anything_can_be_bound_the_way_out_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "_anything_binds", lambda: True)
    assert node.is_own("127.0.0.1")
    assert not node.is_own("192.0.2.10")


def test_a_name_that_cannot_be_resolved_is_an_error_with_a_remedy() -> None:
    assert node.address_of("127.0.0.1") == "127.0.0.1"
    assert node.address_of("::1") == "::1"
    with pytest.raises(ClusterError, match="can't be resolved"):
        node.address_of("no-such-host.invalid")
