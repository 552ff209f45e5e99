from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from agentic_rl.backends.verl import leftovers
from agentic_rl.backends.verl.leftovers import Leftovers
from ray_programs import program, said

pytestmark = [
    pytest.mark.verl,
    pytest.mark.skipif(find_spec("psutil") is None, reason="psutil comes with verl's packages"),
]

PARENT = """
import subprocess, sys, time
from multiprocessing import resource_tracker, shared_memory
memory = shared_memory.SharedMemory(name=sys.argv[1], create=True, size=4096)
resource_tracker.unregister(memory._name, "shared_memory")
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(("name", "removed"), [("psm_of_a_test", True), ("of_somebody_else", False)])
def test_processes_and_their_segments_are_removed(monkeypatch: pytest.MonkeyPatch, name: str, removed: bool) -> None:
    import psutil

    monkeypatch.setattr(leftovers, "PATIENCE", 0.5)
    segment = Path("/dev/shm", name)
    earlier = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        with Leftovers() as left, program(PARENT, name) as process:
            child = int(said(process))
            left.note()
            left.remove()
            assert not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE
            assert segment.exists() is not removed
        assert earlier.poll() is None
    finally:
        earlier.kill()
        earlier.wait()
        segment.unlink(missing_ok=True)


def test_the_memory_of_a_process_that_has_ended_since_is_removed() -> None:
    segment = Path("/dev/shm", "psm_of_an_engine")
    try:
        with Leftovers() as left, program(PARENT, segment.name) as process:
            said(process)
            left.note()
            process.kill()
            process.wait()
            left.note()
            assert segment.exists()
            left.remove()
            assert not segment.exists()
    finally:
        segment.unlink(missing_ok=True)
