"""What every client shares: options, the clock, and the line of JSON that it prints."""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

TURNS = 3
PROMPT = "What is 12 times 7? Use the calculator, then write the answer in a box. Problem number {number}."
TOOL = {
    "type": "function",
    "function": {
        "name": "calculator",
        "description": "Evaluate an arithmetic expression.",
        "parameters": {"type": "object", "properties": {"expression": {"type": "string"}}, "required": ["expression"]},
    },
}
Run = Callable[[argparse.Namespace], Awaitable[int]]
"""Makes `options.rollouts` rollouts, `options.agents` at once; returns how many came out right."""


def measure(run: Run, more: Sequence[str] = (), prepare: Callable[[argparse.Namespace], Any] | None = None) -> None:
    """Run a client once to warm up and then measure it; memory counts from before the first rollout."""
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--agents", type=int, default=1024)
    parser.add_argument("--rollouts", type=int, default=2048)
    for name in more:
        parser.add_argument(f"--{name}", default="")
    options = parser.parse_args()
    if prepare is not None:
        options.prepared = prepare(options)
    before = resident()
    wall, cpu = time.perf_counter(), time.process_time()
    right = asyncio.run(run(options))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"right": right, "cpu": cpu, "wall": wall, "mib": peak - before}))


def resident() -> float:
    """Return the MiB that this process holds now."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise OSError("no VmRSS in /proc/self/status; this runs on Linux only")


async def bounded(options: argparse.Namespace, one: Callable[[int], Awaitable[bool]]) -> int:
    """Await `one` for every rollout, a bounded number at a time."""
    left = iter(range(options.rollouts))
    right = 0

    async def worker() -> None:
        nonlocal right
        for number in left:
            came_out = await one(number)
            right += came_out

    await asyncio.gather(*(worker() for _ in range(options.agents)))
    return right
