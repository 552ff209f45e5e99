from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.verl.cluster import Cluster, _first_line, _handlers_kept, connected
from agentic_rl.backends.verl.demand import Demand, Inference
from agentic_rl.backends.verl.environment import ADDRESS
from ray_programs import LOOPBACK_ONLY, below, listens_at, program, running, said, until

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")
ONE = Demand("cpu", 1, 1)
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}
"""127.0.0.1 in the system's tables of version 4 and 6."""

OWN = """
import sys, time, os
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.verl.cluster import connected
from agentic_rl.backends.verl.demand import Demand
with Interrupts():
    with connected(Demand("cpu", 2, 1), os.environ) as cluster:
        class Writer:
            def hold(self):
                from multiprocessing import shared_memory
                self.memory = shared_memory.SharedMemory(create=True, size=1 << 16)
                return self.memory.name
        writer = cluster.ray.remote(Writer).remote()
        print(cluster.ray.get(writer.hold.remote()), flush=True)
        print(cluster.ray.get_runtime_context().gcs_address, int(cluster.ray.cluster_resources()["GPU"]), flush=True)
        print(cluster.session, flush=True)
        while not sys.argv[1:] or not os.path.exists(sys.argv[1]):
            time.sleep(0.1)
print("ended", flush=True)
"""


@pytest.mark.parametrize(
    ("demand", "words"),
    [
        (Demand("npu", 8, 2), r"several nodes \(2 nodes x 8\)"),
        (Demand("cpu", 1, 1, Inference(1, 2, 1)), r"several nodes \(1 nodes x 1 to train, 2 x 1 to infer\)"),
    ],
)
def test_several_nodes_need_a_cluster(demand: Demand, words: str) -> None:
    with pytest.raises(ClusterError, match=words + ", but RAY_ADDRESS names no cluster"):
        connected(demand, {}).__enter__()


@needs_ray
@pytest.mark.verl
@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ray://127.0.0.1:10001", "not started through Ray Client"),
        ("127.0.0.1:99999", "nothing answers there"),
        ("closed", "nothing answers there"),
        ("nonsense", "can't be joined"),
    ],
)
def test_a_wrong_address_is_an_error_at_once(address: str, words: str) -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and does not listen
        place = f"127.0.0.1:{held.getsockname()[1]}" if address == "closed" else address
        began = time.monotonic()
        with pytest.raises(ClusterError, match=words):
            connected(ONE, {ADDRESS: place}).__enter__()
    assert time.monotonic() - began < 10


def test_of_a_traceback_in_a_message_its_error_is_told() -> None:
    error = ConnectionError("no Ray. Last error: Traceback (most recent call last):\n  File x\nRpcError: timed out\n")
    assert _first_line(error) == "no Ray. Last error: RpcError: timed out"
    assert _first_line(ConnectionError("one\ntwo")) == "one"


def test_handlers_of_signals_are_put_back() -> None:
    def ours(number: int, frame: object) -> None: ...

    before = signal.signal(signal.SIGTERM, ours)
    try:
        with _handlers_kept():
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        assert signal.getsignal(signal.SIGTERM) is ours
    finally:
        signal.signal(signal.SIGTERM, before)


def test_outside_the_main_thread_they_are_left_alone() -> None:
    entered: list[bool] = []

    def enter() -> None:
        with _handlers_kept():
            entered.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered


def test_logs_take_the_place_of_older_ones(tmp_path: Path) -> None:
    logs, kept = tmp_path / "session" / "logs", tmp_path / "kept"
    logs.mkdir(parents=True)
    (logs / "raylet.out").write_text("new")
    (logs / "gone").symlink_to(tmp_path / "nowhere")
    kept.mkdir()
    (kept / "older").touch()
    assert Cluster(None, tmp_path / "session").keep_logs(kept) == kept
    assert (kept / "raylet.out").read_text() == "new"
    assert not (kept / "older").exists()


def test_a_cluster_without_logs_here_keeps_none(tmp_path: Path) -> None:
    assert Cluster(None, None).keep_logs(tmp_path) is None
    assert Cluster(None, tmp_path / "session").keep_logs(tmp_path) is None


@needs_ray
@pytest.mark.verl
def test_an_own_ray_stays_on_loopback_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with program(OWN, str(tmp_path / "stop")) as process:
        segment, (_, devices), session = said(process), said(process).split(), Path(said(process))
        started = below(process.pid)
        assert devices == "2"
        assert listens_at(started) <= LOOPBACK
        assert Path("/dev/shm", segment).exists()
        assert stat.S_IMODE(session.parents[1].stat().st_mode) == 0o700
        (tmp_path / "stop").touch()
        assert said(process) == "ended"
        assert process.wait(20) == 0
    assert running(started) == []
    assert not Path("/dev/shm", segment).exists()
    assert not session.parents[1].exists()


@needs_ray
@pytest.mark.verl
def test_a_first_signal_leaves_the_run_alone_and_a_second_ends_everything() -> None:
    with program(OWN) as process:
        segment, _, session = said(process), said(process), Path(said(process))
        started = below(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        time.sleep(1)
        process.terminate()  # Ray's own handler would have exited at once at the first
        assert process.wait(20) != 0
    assert until(lambda: not running(started), 5)
    assert not Path("/dev/shm", segment).exists()
    assert not session.parents[1].exists()


@needs_ray
@pytest.mark.verl
def test_a_killed_driver_leaves_no_process_behind() -> None:
    with program(OWN) as process:
        segment, _, session = said(process), said(process), Path(said(process))
        started = below(process.pid)
        # Ray's two agents look for their head for a minute before they end; they hold neither devices nor memory.
        agents = [
            one for one in started if one.cmdline()[0].rstrip() in {"ray::DashboardAgent", "ray::RuntimeEnvAgent"}
        ]
        process.kill()
        assert until(lambda: not running([one for one in started if one not in agents]), 15)
    for one in running(agents):
        one.kill()
    Path("/dev/shm", segment).unlink(missing_ok=True)  # nobody is left who could
    subprocess.run(["rm", "-rf", str(session.parents[1])], check=True)


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    """The address of a Ray on loopback that somebody else started: 2 CPUs, 1 device."""
    folder = tempfile.mkdtemp(prefix="stranger-")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = "import sys; from ray.scripts.scripts import main; sys.argv[0] = 'ray'; main()"
    options = {
        "node-ip-address": "127.0.0.1",
        "port": str(port),
        "temp-dir": folder,
        "num-cpus": "2",
        "num-gpus": "1",
        "include-dashboard": "false",
        "object-store-memory": "100000000",
    }
    arguments = [f"--{name}={value}" for name, value in options.items()]
    with program(text, "start", "--head", "--block", *arguments, **LOOPBACK_ONLY) as process:
        assert until(lambda: _answers(port), 30)
        assert until(lambda: any("raylet" in one.name() for one in below(process.pid)), 30)
        time.sleep(3)
        yield f"127.0.0.1:{port}"
        started = below(process.pid)
        process.terminate()
        process.wait(20)
        for one in running(started):
            one.kill()
    subprocess.run(["rm", "-rf", folder], check=True)


def _answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


JOIN = """
import os
from agentic_rl.backends.errors import ClusterError
from agentic_rl.backends.verl import demand as module
from agentic_rl.backends.verl.cluster import connected
module.CPUS_OF_A_DEVICE, module.CPUS_OF_A_RUN = map(int, os.environ["CPUS"].split())
try:
    with connected(module.Demand("cpu", int(os.environ["DEVICES"]), 1), os.environ) as cluster:
        print(cluster.ray.get_runtime_context().gcs_address, cluster.session)
except ClusterError as error:
    print(error.message)
"""


@needs_ray
@pytest.mark.verl
def test_a_strangers_ray_is_left_alone(stranger: str, tmp_path: Path) -> None:
    (tmp_path / "stop").touch()
    with program(OWN, str(tmp_path / "stop")) as process:
        said(process)
        address = said(process).split()[0]
        assert process.wait(30) == 0
    assert address != stranger
    assert _answers(int(stranger.rpartition(":")[2]))


@needs_ray
@pytest.mark.verl
@pytest.mark.parametrize(
    ("cpus", "devices", "words"),
    [
        ("1 1", "1", "{stranger} None"),
        ("1 1", "2", "the run needs 2 GPUs (1 nodes x 2), and Ray has 1"),
        ("3 2", "1", "verl reserves 5 CPUs, and Ray has 2: it would wait for ever"),
    ],
)
def test_the_ray_that_is_named_is_joined_and_goes_on(stranger: str, cpus: str, devices: str, words: str) -> None:
    began = time.monotonic()
    with program(JOIN, **LOOPBACK_ONLY, RAY_ADDRESS=stranger, CPUS=cpus, DEVICES=devices) as process:
        assert said(process) == words.format(stranger=stranger)
        assert process.wait(20) == 0
    assert time.monotonic() - began < 30
    assert _answers(int(stranger.rpartition(":")[2]))
