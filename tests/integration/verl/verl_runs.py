"""Runs of the command line in processes of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tiny_verl_project import environment

LIMIT = 600


def start(config: Path, cwd: Path) -> subprocess.Popen[str]:
    return start_program(["-m", "agentic_rl", "--config-path", str(config)], cwd)


def start_program(arguments: Sequence[str], cwd: Path) -> subprocess.Popen[str]:
    cwd.mkdir(exist_ok=True)
    command = [sys.executable, *arguments]
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


def measured(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def rollouts(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "trajectories.jsonl").read_text().splitlines()]
