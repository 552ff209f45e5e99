"""Kills the job of a supervisor at random moments, and remembers what each kill cost."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from agentic_rl.cluster.progress import Progress, look, stepped
from agentic_rl.cluster.retention import KEPT, OURS


@dataclass(frozen=True)
class Kill:
    """One kill, by what the folder showed when the process was gone."""

    step: int
    checkpoint: int

    @property
    def lost(self) -> int:
        """Steps that are made again."""
        return max(self.step - max(self.checkpoint, 0), 0)


def supervised(
    config: Path, cwd: Path, *options: str, environ: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start the supervisor of a configuration; its output goes to `supervisor.txt` in `cwd`."""
    cwd.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "agentic_rl", "supervise", "--config-path", str(config), "--first-wait", "0.05"]
    with (cwd / "supervisor.txt").open("wb") as output:
        return subprocess.Popen(
            [*command, *options], cwd=cwd, env=environ, stdout=output, stderr=output, start_new_session=True
        )


def kill_at_random(
    supervisor: subprocess.Popen[bytes], run: Path, count: int, draw: random.Random, *, most_steps: int, limit: float
) -> list[Kill]:
    """Kill the job `count` times, after one to `most_steps` further steps, or (one in five) while it starts."""
    kills: list[Kill] = []
    end = time.monotonic() + limit
    while len(kills) < count:
        pid = _new_job(supervisor, run, end)
        before = look(run)
        wanted = before.checkpoint + draw.randint(1, most_steps)
        if draw.random() < 0.2:
            time.sleep(draw.uniform(0, 3))
        else:
            _wait_for_step(run, before, wanted, pid, end)
            time.sleep(draw.uniform(0, 0.3))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        while not _gone(pid):
            time.sleep(0.01)
        seen = look(run)
        kills.append(Kill(seen.step, seen.checkpoint))
        assert supervisor.poll() is None, "it ended before all kills"
    return kills


def steps_of(run: Path) -> list[int]:
    """The training steps that are measured, in order."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line["step"] for line in lines if "reward/mean" in line]


_seen: set[int] = set()


def strangers(run: Path) -> list[str]:
    """What a run leaves that would not be removed before another one."""
    return sorted(entry.name for entry in run.iterdir() if not OURS.fullmatch(entry.name) and entry.name not in KEPT)


def _new_job(supervisor: subprocess.Popen[bytes], run: Path, end: float) -> int:
    """The process that holds the run's folder, once it is another than those before."""
    while time.monotonic() < end:
        assert supervisor.poll() is None, "it ended before all kills"
        with contextlib.suppress(OSError, ValueError):
            pid = int((run / ".lock").read_text())
            if pid not in _seen and not _gone(pid):
                _seen.add(pid)
                return pid
        time.sleep(0.02)
    raise AssertionError("no job was started")


def _wait_for_step(run: Path, before: Progress, step: int, pid: int, end: float) -> None:
    """Wait until this start has measured `step`; the lines of earlier ones are there until it cuts them."""
    while not (stepped(before, now := look(run)) and now.step >= step) and not _gone(pid):
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.01)


def _gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True
