from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentic_rl.machine.network import (
    PORTS,
    check_interfaces,
    check_port,
    check_ports,
    check_proxies,
    check_ray,
    ports_of,
)


@pytest.fixture
def listening() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_that_somebody_listens_on_is_in_use(listening: int) -> None:
    found = check_port(listening, "free")
    assert (found.status, found.value) == ("warning", "in use")
    assert f"sport = :{listening}" in found.remedy


def test_a_port_that_was_closed_a_moment_ago_is_free() -> None:
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = server.accept()
            accepted.close()  # the side that closes first keeps the port for a while
            client.recv(1)
    assert check_port(port, "free").status == "ok"


def test_ports_of_the_file_come_before_the_documented_ones() -> None:
    assert [one.name for one in check_ports([9000, 8080])] == ["port 9000", "port 8080"] + [
        f"port {port}" for port in PORTS if port != 8080
    ]


def test_ports_are_found_wherever_they_stand_in_a_file() -> None:
    tree = {
        "port": 8030,
        "serve": [{"http_port": 9001}, "port"],
        "deep": {"port": {"x_port": 7}, "report": 5, "a_port": True, "b_port": 70000, "c_port": "80"},
    }
    assert sorted(ports_of(tree)) == [7, 8030, 9001]
    assert list(ports_of(None)) == []


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"no_proxy": "x"},
        {"http_proxy": ""},
        {"http_proxy": "http://p", "no_proxy": "localhost, 127.0.0.1"},
        {"HTTPS_PROXY": "http://p", "NO_PROXY": "*"},
        {"http_proxy": "http://p", "no_proxy": ".localhost,127.0.0.0/8"},
    ],
)
def test_loopback_that_no_proxy_catches_is_fine(environ: dict[str, str]) -> None:
    assert check_proxies(environ).status == "ok"


@pytest.mark.parametrize(
    ("environ", "caught", "remedy"),
    [
        ({"http_proxy": "http://p"}, "127.0.0.1 and localhost", "export no_proxy=127.0.0.1,localhost"),
        ({"ALL_PROXY": "x", "no_proxy": "localhost"}, "127.0.0.1 would", "export no_proxy=localhost,127.0.0.1"),
        ({"http_proxy": "x", "no_proxy": "10.0.0.0/8,127.0.0.1"}, "localhost would", ",127.0.0.1,localhost"),
    ],
)
def test_a_proxy_that_catches_loopback_is_told(environ: dict[str, str], caught: str, remedy: str) -> None:
    found = check_proxies(environ)
    assert found.status == "warning"
    assert caught in found.value
    assert found.remedy.endswith(remedy)


def test_interfaces_are_looked_at_only_where_one_is_named() -> None:
    assert check_interfaces({"GLOO_SOCKET_IFNAME": ""}) == []


@pytest.mark.parametrize(
    ("variable", "value", "status"),
    [
        ("GLOO_SOCKET_IFNAME", "lo", "ok"),
        ("GLOO_SOCKET_IFNAME", "l", "error"),
        ("NCCL_SOCKET_IFNAME", "l", "ok"),
        ("NCCL_SOCKET_IFNAME", "=l", "error"),
        ("NCCL_SOCKET_IFNAME", "=lo", "ok"),
        ("NCCL_SOCKET_IFNAME", "^docker", "ok"),
        ("HCCL_SOCKET_IFNAME", "nothing0,lo", "ok"),
        ("HCCL_SOCKET_IFNAME", "nothing0", "error"),
    ],
)
def test_named_interfaces_are_there(variable: str, value: str, status: str) -> None:
    (found,) = check_interfaces({variable: value})
    assert (found.name, found.status) == (variable, status)
    assert ("export" in found.remedy) == (status == "error")


def ray_folder(tmp_path: Path, address: str) -> dict[str, str]:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text(address)
    return {"RAY_TMPDIR": str(tmp_path)}


def test_ray_that_is_not_there(tmp_path: Path) -> None:
    assert check_ray({"RAY_TMPDIR": str(tmp_path)}).status == "ok"


def test_ray_that_answers_is_up(tmp_path: Path, listening: int) -> None:
    found = check_ray(ray_folder(tmp_path, f"127.0.0.1:{listening}\n"))
    assert found.status == "ok"
    assert f"up at 127.0.0.1:{listening}" in found.value


@pytest.mark.parametrize("address", ["127.0.0.1:1", "", "nonsense", "127.0.0.1:99999", ":80", "a b:\u0663"])
def test_ray_that_left_an_address_behind_is_stale(tmp_path: Path, address: str) -> None:
    found = check_ray(ray_folder(tmp_path, address))
    assert found.status == "warning"
    assert "stale" in found.value
    assert found.remedy.startswith("ray stop --force; rm -f ")


def test_ray_whose_address_is_a_folder_can_t_be_looked_at(tmp_path: Path) -> None:
    (tmp_path / "ray" / "ray_current_cluster").mkdir(parents=True)
    assert check_ray({"RAY_TMPDIR": str(tmp_path)}).status == "unknown"
