"""A node from its start to the end of the job; Ray is in the integration tests."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from agentic_rl.backends.errors import ClusterError
from agentic_rl.cluster import launch, ray_node, status
from agentic_rl.cluster.launch import Launch
from agentic_rl.cluster.plan import NodePlan, Part, RayNode
from agentic_rl.cluster.programs import Program
from agentic_rl.cluster.retry import RetryPolicy
from agentic_rl.cluster.status import NodeStatus, StatusFile
from agentic_rl.cluster.supervise import supervise
from agentic_rl.config.aura.hosts import parse_hosts

NODES = parse_hosts("192.0.2.10,0,0\n192.0.2.11,1,1\n").nodes


def part_of(states: Path, index: int, job: str = "") -> NodePlan:
    parts: tuple[Part, Part] = ("inference node", "training master")
    command = (sys.executable, "-c", job) if job else ()
    return NodePlan(NODES[index], parts[index], NODES, states, 5, job=command)


def said_by(plan: NodePlan) -> NodeStatus:
    found = status.read(plan.status_file(plan.node))
    assert found is not None
    return found


def run(plan: NodePlan) -> tuple[int, str]:
    said: list[str] = []
    return Launch(plan, said.append).run(), "\n".join(said)


@pytest.mark.parametrize(("code", "ended", "state"), [(0, 0, "finished"), (1, 1, "failed"), (7, 1, "failed")])
def test_the_master_ends_with_its_job(tmp_path: Path, code: int, ended: int, state: str) -> None:
    master = part_of(tmp_path, 1, f"print('hello'); raise SystemExit({code})")
    assert run(master)[0] == ended
    assert (said_by(master).state, said_by(master).exit_status) == (state, ended)
    assert (tmp_path / "job-1.log").read_text() == "hello\n"


def test_a_signal_reaches_the_job(tmp_path: Path) -> None:
    text = "import signal, time; signal.signal(15, lambda *_: exit(130)); print('up', flush=True); time.sleep(60)"
    master = part_of(tmp_path, 1, text)
    timer = threading.Thread(target=_terminate_when, args=(tmp_path / "job-1.log", "up"))
    timer.start()
    assert run(master)[0] == 130
    timer.join()
    assert said_by(master).state == "stopped"


@pytest.mark.parametrize(("state", "code"), [("finished", 0), ("failed", 1), ("stopped", 130)])
def test_the_other_nodes_end_as_the_masters_job_did(tmp_path: Path, state: status.State, code: int) -> None:
    worker, master = part_of(tmp_path, 0), part_of(tmp_path, 1)
    other = threading.Thread(target=_say_later, args=(master.status_file(master.node), state, code))
    started = Launch(worker, print)
    other.start()
    assert started.run() == code
    other.join()
    assert said_by(worker).exit_status == code


def test_what_an_earlier_launch_said_ends_nobody(tmp_path: Path) -> None:
    worker, master = part_of(tmp_path, 0), part_of(tmp_path, 1)
    _say_later(master.status_file(master.node), "finished", 0, seconds=0)
    node = Launch(worker, print)
    again = threading.Timer(0.8, _say_later, args=(master.status_file(master.node), "failed", 1), kwargs={"seconds": 0})
    again.start()
    assert node.run() == 1
    again.join()


def test_a_master_that_died_is_noticed(tmp_path: Path) -> None:
    worker, master = part_of(tmp_path, 0), part_of(tmp_path, 1)
    node = Launch(worker, print)
    _beat_once(master, lease=0.5)
    assert node.run() == 4
    assert said_by(worker).state == "failed"


def test_a_node_that_died_ends_the_job(tmp_path: Path) -> None:
    worker, master = part_of(tmp_path, 0), part_of(tmp_path, 1, "import time; time.sleep(60)")
    node = Launch(master, print)
    _beat_once(worker, lease=0.5)
    began = time.monotonic()
    with pytest.raises(ClusterError, match=r"node 0 \(192.0.2.10\) is dead"):
        node.run()
    assert time.monotonic() - began < 30
    assert said_by(master).state == "failed"
    assert "is dead" in said_by(master).message


def test_shared_memory_that_ray_leaves_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psutil")
    segment = Path("/dev/shm", f"psm_{uuid.uuid4().hex}")
    text = f"import mmap, time; file = open({str(segment)!r}, 'wb+'); file.truncate(4096)\n"
    engine = (sys.executable, "-c", f"{text}kept = mmap.mmap(file.fileno(), 4096); time.sleep(60)")
    monkeypatch.setattr(launch, "NOTE_SECONDS", 0.1)
    monkeypatch.setattr(ray_node, "authentication", lambda *_: {})
    monkeypatch.setattr(ray_node, "await_nodes", lambda *_: None)
    monkeypatch.setattr(ray_node, "ray_on", lambda *_: Program("ray", engine, tmp_path / "ray.log"))
    job = f"import os, time\nwhile not os.path.exists({str(segment)!r}): time.sleep(0.1)\ntime.sleep(1)"
    ray = RayNode(head=True, head_address="192.0.2.11:1", own_address="192.0.2.11", device="cpu", devices=1, role="x")
    monkeypatch.setattr(launch, "require_free", lambda _: None)
    assert run(replace(part_of(tmp_path, 1, job), ray=ray))[0] == 0
    assert not segment.exists()


def test_a_port_that_is_taken_stops_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def taken(ports: list[int]) -> None:
        raise ClusterError(f"port {ports} can't be opened")

    monkeypatch.setattr(launch, "require_free", taken)
    master = part_of(tmp_path, 1, "pass")
    with pytest.raises(ClusterError):
        run(master)
    assert said_by(master).state == "failed"
    assert not (tmp_path / "job-1.log").exists()


def _beat_once(plan: NodePlan, lease: float) -> None:
    """A node that says that it runs, and then nothing more."""
    path = plan.status_file(plan.node)
    with StatusFile(path, NodeStatus(plan.node.index, plan.part, lease_seconds=lease), beat_seconds=60) as file:
        file.update(state="running")
        text = path.read_text()
    path.write_text(text)


def _say_later(path: Path, state: status.State, code: int, seconds: float = 0.5) -> None:
    with StatusFile(path, NodeStatus(1, "training master")) as file:
        time.sleep(seconds)
        file.update(state=state, exit_status=code)


def _terminate_when(log: Path, words: str) -> None:
    end = time.monotonic() + 30
    while not (log.exists() and words in log.read_text()) and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(os.getpid(), signal.SIGTERM)


def test_the_plan_of_a_node_is_not_changed_by_running_it(tmp_path: Path) -> None:
    master = part_of(tmp_path, 1, "pass")
    copy = replace(master)
    run(master)
    assert master == copy


LAUNCHING = """
import sys
from pathlib import Path
from agentic_rl.cluster.launch import Launch
from agentic_rl.cluster.plan import NodePlan
from agentic_rl.config.aura.hosts import parse_hosts
nodes = parse_hosts("127.0.0.1,0,1,1\\n").nodes
job = (sys.executable, "-c", "print('hello', flush=True); import time; time.sleep(1)")
sys.exit(Launch(NodePlan(nodes[0], "training master", nodes, Path(sys.argv[1]), 5, job=job), print).run())
"""


def test_a_launch_that_is_supervised_does_not_read_what_it_prints(tmp_path: Path) -> None:
    command = [sys.executable, "-c", LAUNCHING, str(tmp_path)]
    assert supervise(command, RetryPolicy(max_retries=0), None, print, states=tmp_path) == 0
    assert (tmp_path / "job-0.log").read_text() == "hello\n"
    assert (tmp_path / "supervised-0.log").read_text().count("hello\n") == 1
