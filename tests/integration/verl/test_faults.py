"""What breaks around a job ends it with one clear error in bounded time. Two minutes each: run by hand (soak)."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tiny_verl_project import make
from verl_runs import LIMIT, start, start_program, wait_for

APART = str(Path(__file__).parent / "separate_child.py")
pytestmark = [pytest.mark.verl, pytest.mark.soak, pytest.mark.timeout(900)]

BROKEN_ENGINE = '''
"""A plugin of verl: the engine fails when it takes weights for the second time."""

from agentic_rl.backends.verl.inside.import_hook import on_import

taken = 0


def break_it(module):
    extension = module.vLLMColocateWorkerExtension
    update = extension.update_weights_from_ipc

    def fail(self, *arguments, **keywords):
        global taken
        taken += 1
        if taken > 1:
            raise BufferError("a pointer is still exported")
        return update(self, *arguments, **keywords)

    extension.update_weights_from_ipc = fail


on_import("verl.workers.rollout.vllm_rollout.utils", break_it)
'''


def told(process: subprocess.Popen[str], limit: float = LIMIT) -> str:
    _, text = process.communicate(timeout=limit)
    assert process.returncode == 1, text
    assert "Traceback" not in text
    return text


def named(process: subprocess.Popen[str], name: str) -> psutil.Process:
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        for child in psutil.Process(process.pid).children(recursive=True):
            if name in " ".join(child.cmdline()[:1]) or name in child.name():
                return child
        time.sleep(0.2)
    raise AssertionError(f"no process {name}")


def test_a_worker_that_is_killed(tmp_path: Path) -> None:
    config = make(tmp_path / "project", total_training_steps=20)
    process = start(config, tmp_path / "here")
    wait_for(tmp_path / "here/checkpoints/tiny/one/latest_checkpointed_iteration.txt", "1", process)
    killed = time.monotonic()
    os.kill(named(process, "ray::WorkerDict").pid, signal.SIGKILL)
    text = told(process, 180)
    assert "a process of the job died" in text
    assert "goes on from the last checkpoint" in text
    assert time.monotonic() - killed < 120


def test_an_inference_server_that_is_killed(tmp_path: Path) -> None:
    config = make(tmp_path / "project", device="cpu", total_training_steps=20)
    process = start_program([APART, str(config)], tmp_path / "here")
    wait_for(tmp_path / "here/checkpoints/tiny/one/latest_checkpointed_iteration.txt", "1", process)
    os.kill(named(process, "ray::vLLMHttpServer").pid, signal.SIGKILL)
    assert "WorkerLostError: a process of the job died" in told(process, 180)


@pytest.mark.parametrize("program", [("-m", "agentic_rl", "--config-path"), (APART,)], ids=["hybrid", "apart"])
def test_an_engine_that_fails_while_it_takes_the_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: tuple[str, ...]
) -> None:
    (tmp_path / "broken_engine.py").write_text(BROKEN_ENGINE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("VERL_USE_EXTERNAL_MODULES", "broken_engine")
    config = make(tmp_path / "project", total_training_steps=3)
    text = told(start_program([*program, str(config)], tmp_path / "here"))
    assert "the engine could not take the weights: BufferError: a pointer is still exported" in text


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], check=False)
    if made.returncode:
        pytest.skip("mounting needs root")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def test_a_full_disk(tmp_path: Path, small_disk: Path) -> None:
    config = make(tmp_path / "project", total_training_steps=20, keep_checkpoints=20)
    text = told(start(config, small_disk))
    assert "No space left" in text or "make room on the disk" in text
    run = small_disk / "checkpoints/tiny/one"
    step = (run / "latest_checkpointed_iteration.txt").read_text()
    assert (run / f"global_step_{step}" / "data.pt").exists()


def test_a_job_that_does_not_come_up(tmp_path: Path) -> None:
    config = make(tmp_path / "project", startup_timeout=15.0)
    began = time.monotonic()
    text = told(start(config, tmp_path / "here"))
    assert "verl did not begin to train within 15 s" in text
    assert time.monotonic() - began < 90


def test_sigterm_saves_and_the_run_goes_on(tmp_path: Path) -> None:
    config = make(tmp_path / "project", total_training_steps=20, save_freq=100)
    process = start(config, tmp_path / "here")
    metrics = tmp_path / "here/checkpoints/tiny/one/metrics.jsonl"
    while not (metrics.exists() and metrics.read_text()):
        assert process.poll() is None
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGTERM)
    _, text = process.communicate(timeout=180)
    assert process.returncode == 130, text
    assert "the same command goes on from" in text
