"""Runs of the command line in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tiny_verl_project import environment

LIMIT = 600


def start(config: Path, cwd: Path) -> subprocess.Popen[str]:
    cwd.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "agentic_rl", "--config-path", str(config)]
    pipe = subprocess.PIPE
    return subprocess.Popen(  # in a process group of its own, which a test may send a signal
        command, cwd=cwd, env=environment(), stderr=pipe, stdout=pipe, text=True, start_new_session=True
    )


def wait_for(path: Path, text: str, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + LIMIT
    while not (path.exists() and path.read_text().strip() == text):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"{path} never had {text}"
        time.sleep(0.2)
