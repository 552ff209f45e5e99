"""Starting and joining Ray, with a program that stands in for it; real Ray is in the integration tests."""

from __future__ import annotations

import socket
import stat
import threading
import time
from pathlib import Path

import pytest

from agentic_rl.backends.errors import ClusterError
from agentic_rl.cluster import ray_node
from agentic_rl.cluster.plan import NodePlan, RayNode
from agentic_rl.cluster.programs import StoppedError, answers
from agentic_rl.config.aura.hosts import parse_hosts

NODES = parse_hosts("127.0.0.1,0,1,1\n127.0.0.2,1,0\n").nodes
STAND_IN = """
import os, signal, socket, sys, time
given = dict(item.partition("=")[::2] for item in sys.argv[1:])
os.makedirs(given["--temp-dir"])
if "--port" in given:
    server = socket.create_server(("127.0.0.1", int(given["--port"])))
print("Ray runtime started.", flush=True)
signal.pause()
"""
REFUSING = "raise SystemExit('ValueError: another Python')"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(ray_node, "RAY", STAND_IN)
    return free_port()


def plan(states: Path, index: int, port: int, seconds: float = 10) -> tuple[NodePlan, RayNode]:
    ray = RayNode(index == 0, f"127.0.0.1:{port}", NODES[index].host, "cpu", 1, "agentic_rl_training")
    part = "training master" if index == 0 else "training node"
    return NodePlan(NODES[index], part, NODES, states, seconds, ray, job=("true",) if index == 0 else ()), ray


def never() -> bool:
    return False


def test_the_head_is_up_as_long_as_the_block_runs(tmp_path: Path, port: int) -> None:
    with ray_node.ray_on(*plan(tmp_path, 0, port), never) as program:
        assert program.runs
        assert answers(f"127.0.0.1:{port}")
    assert not answers(f"127.0.0.1:{port}")


def test_nodes_join_a_head_that_comes_later(tmp_path: Path, port: int) -> None:
    head = threading.Thread(target=_head_later, args=(tmp_path, port))
    head.start()
    with ray_node.ray_on(*plan(tmp_path, 1, port), never) as program:
        assert program.runs
    head.join()


def test_the_folder_of_ray_is_removed(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_node.tempfile, "mkdtemp", lambda prefix: str(_made(tmp_path / f"{prefix}home")))
    with ray_node.ray_on(*plan(tmp_path, 0, port), never):
        assert (tmp_path / "ray-home" / "r").is_dir()
    assert not (tmp_path / "ray-home").exists()


def test_a_head_that_does_not_come_is_waited_for_only_so_long(tmp_path: Path, port: int) -> None:
    began = time.monotonic()
    with (
        pytest.raises(ClusterError, match=r"nothing answers at 127.0.0.1"),
        ray_node.ray_on(*plan(tmp_path, 1, port, seconds=0.3), never),
    ):
        pass
    assert time.monotonic() - began < 10


def test_a_signal_ends_the_wait_for_the_head(tmp_path: Path, port: int) -> None:
    with pytest.raises(StoppedError), ray_node.ray_on(*plan(tmp_path, 1, port), lambda: True):
        pass


def test_a_ray_that_refuses_is_told_with_its_last_words(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ray_node, "RAY", REFUSING)
    monkeypatch.setattr(ray_node, "AGAIN_SECONDS", 0.1)
    with (
        pytest.raises(ClusterError, match=r"can't be started at .*ValueError: another Python"),
        ray_node.ray_on(*plan(tmp_path, 0, port), never),
    ):
        pass
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(ClusterError, match="can't be joined: ValueError: another Python"),
        ray_node.ray_on(*plan(tmp_path, 1, port, seconds=0.5), never),
    ):
        pass


def test_the_master_makes_a_token_which_the_others_find(tmp_path: Path) -> None:
    states = tmp_path / "nodes"
    master, worker = (plan(states, index, 1, seconds=0.1)[0] for index in (0, 1))
    with pytest.raises(ClusterError, match=r"has not written .*ray\.token"):
        ray_node.authentication(worker, {}, never)
    made = ray_node.authentication(master, {}, never)
    assert made["RAY_AUTH_MODE"] == "token"
    assert len(made["RAY_AUTH_TOKEN"]) == 64
    assert ray_node.authentication(worker, {}, never) == made
    assert ray_node.authentication(master, {}, never) == made, "a restart keeps it"
    assert stat.S_IMODE((states / "ray.token").stat().st_mode) == 0o640


@pytest.mark.parametrize("name", ["RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"])
def test_a_token_of_the_users_own_takes_its_place(tmp_path: Path, name: str) -> None:
    worker, _ = plan(tmp_path / "nodes", 1, 1)
    assert ray_node.authentication(worker, {name: "x"}, never) == {}


def test_nodes_that_do_not_join_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_node, "READY", "this")  # a module of Python's own that prints, and ends well
    ray_node.await_nodes(*plan(tmp_path, 0, 1), never)
    monkeypatch.setattr(ray_node, "READY", "no_such_module")
    with pytest.raises(ClusterError, match=r"not all nodes joined: .*No module named") as caught:
        ray_node.await_nodes(*plan(tmp_path, 0, 1), never)
    assert "1 (127.0.0.2)" in caught.value.hint


def _head_later(states: Path, port: int) -> None:
    time.sleep(0.5)
    with ray_node.ray_on(*plan(states, 0, port), never):
        time.sleep(2)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
