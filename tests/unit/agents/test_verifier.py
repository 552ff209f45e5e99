from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from agentic_rl.agents.verifier import Verifier


def test_a_killed_process_is_started_anew() -> None:
    verifier = Verifier()
    assert verifier.equal("x+1", "1+x")
    assert verifier._process is not None
    os.kill(verifier._process.pid, signal.SIGKILL)
    verifier._process.wait()
    assert verifier.equal("x+1", "1+x")
    verifier.close()


def test_one_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    verifier = Verifier()
    assert verifier.equal("x+1", "1+x")
    assert verifier._process is not None
    os.kill(verifier._process.pid, signal.SIGSTOP)
    monkeypatch.setattr("agentic_rl.agents.verifier._SECONDS", 0.2)
    assert not verifier.equal("x+1", "1+x")
    monkeypatch.undo()
    assert verifier.equal("x+1", "1+x")
    verifier.close()


def test_without_the_package_nothing_more_is_equal_and_the_log_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if "site-packages" not in folder])
    verifier = Verifier()
    with caplog.at_level(logging.WARNING):
        assert [verifier.equal("x+1", "1+x") for _ in range(2)] == [False, False]
    assert caplog.text.count("math-verify is not installed") == 1


def test_it_ends_with_the_program() -> None:
    code = (
        "from agentic_rl.agents.verifier import VERIFIER; VERIFIER.equal('x', 'y'); print(VERIFIER._process.pid);"
        "import os; os._exit(0)"
    )
    pid = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    deadline = time.monotonic() + 20
    while is_alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
