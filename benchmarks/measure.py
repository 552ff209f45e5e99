"""CPU seconds and peak memory of whole processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Cost:
    """What one process took."""

    cpu_seconds: float
    peak_mib: float
    returncode: int


def run(command: Sequence[str]) -> Cost:
    """Run a command to its end and read its resource usage from the kernel."""
    return cost_of(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))


def cost_of(process: subprocess.Popen[bytes]) -> Cost:
    """Wait for a process's end and read its resource usage from the kernel."""
    with process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1024 if sys.platform != "darwin" else 1024 * 1024
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit, process.returncode)


def alternate(commands: dict[str, Sequence[str]], rounds: int) -> dict[str, Cost]:
    """Run every command once a round, in turn, and give the median cost of each: load of others hits all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            costs[name].append(run(command))
    return {
        name: Cost(
            median(cost.cpu_seconds for cost in runs),
            max(cost.peak_mib for cost in runs),
            max(cost.returncode for cost in runs),
        )
        for name, runs in costs.items()
    }
