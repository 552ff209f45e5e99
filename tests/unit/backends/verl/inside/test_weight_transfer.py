from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentic_rl.backends.errors import WeightTransferError
from agentic_rl.backends.verl.inside.names import PLUGIN
from agentic_rl.backends.verl.inside.weight_transfer import (
    LIMIT,
    PatientSocket,
    failure_file,
    of_this_run,
    tell_failure,
)

pytestmark = [
    pytest.mark.verl,
    pytest.mark.skipif(find_spec("verl") is None or find_spec("zmq") is None, reason="verl is not installed"),
]

ENGINE = """
import sys, time, zmq
from agentic_rl.backends.verl.inside.weight_transfer import tell_failure
address, what = sys.argv[1:]
socket = zmq.Context.instance().socket(zmq.REP)
if what != "absent":
    socket.connect(address)
    if what != "silent":
        assert socket.recv_pyobj() == "weights"
if what == "good":
    socket.send(b"taken")
if what in ("failing", "absent"):
    tell_failure(address, AttributeError("no attribute 'weight_loader'"))
time.sleep(60)
"""
VERL_ENGINE = """
import sys, torch
from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightReceiver
from agentic_rl.backends.verl.inside.weight_transfer import tell_failure
address, what = sys.argv[1:]
taken = {}
def take(weights, is_last):
    if what == "failing":
        raise ValueError("a shape of another model")
    taken.update((name, tensor.clone()) for name, tensor in weights)
try:
    BucketedWeightReceiver(address, torch.device("cpu"), use_shm=True).receive_weights(take)
except BaseException as error:
    tell_failure(address, error)
    raise
print(sum(float(tensor.sum()) for tensor in taken.values()), flush=True)
"""
VERL_TRAINER = """
import asyncio, os, sys, time, torch
from verl.workers.rollout.vllm_rollout.bucketed_weight_transfer import BucketedWeightSender
weights = [(f"w{number}", torch.ones(200_000)) for number in range(4)]
try:
    asyncio.run(BucketedWeightSender(sys.argv[1], bucket_size_mb=1, use_shm=True).async_send_weights(iter(weights)))
    print("sent")
except Exception as error:
    print(type(error).__name__, str(error).splitlines()[0])
"""


@contextmanager
def process(text: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    settings = {"VERL_PLATFORM": "cpu", "VERL_USE_EXTERNAL_MODULES": PLUGIN, LIMIT: "60"}
    started = subprocess.Popen(
        [sys.executable, "-c", text, *arguments],
        env={**os.environ, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


@contextmanager
def sender(address: str, limit: float) -> Iterator[PatientSocket]:
    import zmq

    with zmq.Context() as context, context.socket(zmq.REQ) as socket:
        socket.bind(address)
        yield PatientSocket(socket, address, limit)


def exchange(socket: PatientSocket) -> None:
    socket.send_pyobj("weights")
    socket.recv()


@pytest.fixture
def address(tmp_path: Path) -> str:
    return f"ipc://{tmp_path}/weights.sock"


def test_an_answer_comes_through(address: str) -> None:
    with process(ENGINE, address, "good"), sender(address, 30) as socket:
        socket.send_pyobj("weights")
        assert socket.recv() == b"taken"


@pytest.mark.parametrize("what", ["failing", "absent"])
def test_the_cause_of_a_failure_arrives_at_once(address: str, what: str) -> None:
    words = "could not take the weights: AttributeError: no attribute 'weight_loader'"
    with process(ENGINE, address, what), sender(address, 60) as socket:
        began = time.monotonic()
        with pytest.raises(WeightTransferError, match=words):
            exchange(socket)
        assert time.monotonic() - began < 20  # the start of the engine's process, for the most part
    assert not failure_file(address).exists()


def test_a_failure_before_the_sender_was_there_is_seen(address: str) -> None:
    tell_failure(address, ValueError("early"))
    with sender(address, 60) as socket:
        began = time.monotonic()
        with pytest.raises(WeightTransferError, match="ValueError: early"):
            socket.send_pyobj("weights")
        assert time.monotonic() - began < 2


def test_a_failure_of_an_earlier_run_is_not(address: str) -> None:
    tell_failure(address, ValueError("of yesterday"))
    os.utime(failure_file(address), (1e9, 1e9))
    with sender(address, 0.6) as socket, pytest.raises(WeightTransferError, match=r"within 0\.6 s"):
        socket.send_pyobj("weights")


def test_a_silent_engine_has_a_limit(address: str) -> None:
    with process(ENGINE, address, "silent"), sender(address, 1) as socket:
        while not socket.poll(100, 2):  # until it has connected
            pass
        socket.send_pyobj("weights")
        began = time.monotonic()
        with pytest.raises(WeightTransferError, match="within 1 s"):
            socket.recv()
        assert time.monotonic() - began < 3


def test_a_failure_that_cannot_be_written_hides_nothing() -> None:
    tell_failure("ipc:///nowhere/at/all.sock", ValueError("x"))


@pytest.mark.parametrize(
    ("what", "words"), [("good", "sent"), ("failing", "the engine could not take the weights: ValueError: a shape of")]
)
def test_verls_own_sender_and_receiver(address: str, what: str, words: str) -> None:
    before = set(os.listdir("/dev/shm"))  # noqa: PTH208
    with process(VERL_ENGINE, address, what) as engine, process(VERL_TRAINER, address) as trainer:
        said, _ = trainer.communicate(timeout=120)
        assert words in said
        if what == "good":
            assert engine.communicate(timeout=60)[0].splitlines()[-1] == "800000.0"
    assert not [name for name in set(os.listdir("/dev/shm")) - before if name.startswith("verl_weights")]  # noqa: PTH208


def test_runs_of_one_machine_do_not_share_a_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "ipc:///tmp/rl-colocate-zmq-01000000-replica-0-rank-0.sock"
    monkeypatch.delenv("AGENTIC_RL_VERL_RUN", raising=False)
    assert of_this_run(address) == address
    monkeypatch.setenv("AGENTIC_RL_VERL_RUN", "a1b2")
    mine = of_this_run(address)
    assert mine == "ipc:///tmp/a1b2-rl-colocate-zmq-01000000-replica-0-rank-0.sock"
    assert of_this_run(mine) == mine
