"""What the service costs a stream of tokens that goes through it.

    python benchmarks/serve.py [--streams 256] [--seconds 60] [--every 0.1]

A model server, the service and the client are processes of their own. The server sends each stream a token every 100 ms
with the time at which it left; the client notes when it came. It reads the streams straight from the server, and then
through the service, and prints the percentiles of both and the differences between them. It also asks the service for
its memory, its open files and its tasks, before and after: what was taken for the streams is given back. On a machine
that does other things too, give the three their turn first: `chrt --rr 10 python benchmarks/serve.py`.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gc
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

TESTS = Path(__file__).parents[1] / "tests"
HOLD = """
import sys
from agentic_rl.serve.service import run_service
from agentic_rl.serve.settings import Infer, Settings
infer = Infer("big", "policy", (sys.argv[1],))
run_service(Settings("", (), "127.0.0.1", int(sys.argv[2]), sys.argv[3], "WARNING", infers=(infer,)), environ={})
"""
BODY = {"model": "policy", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
SENT = re.compile(rb'"at": ([0-9.]+)')
SPREAD = 2.0
"""Seconds in which the streams begin: users do not all ask at one moment."""
PERCENTS = (50, 90, 99, 99.9, 100)


def main() -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=256)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=0.1)
    options = parser.parse_args()
    tokens = round(options.seconds / options.every)
    with model_server(options.every, tokens) as server, service(server) as through:
        asyncio.run(measure(server, through, options.streams, tokens))


async def measure(server: str, through: str, streams: int, tokens: int) -> None:
    """Read the streams both ways."""
    await read(through, streams, tokens=10)  # what is made at the first use
    before = await state(through)
    delays = {}
    for name, url in (("straight", server), ("through", through)):
        began = time.monotonic()
        delays[name] = sorted(await read(url, streams))
        print(f"{name:9} {len(delays[name])} events in {time.monotonic() - began:.1f} s: {shown(delays[name])}")
        if len(delays[name]) != streams * tokens:
            raise SystemExit(f"{streams * tokens} events were sent")
    extra = [at(delays["through"], percent) - at(delays["straight"], percent) for percent in PERCENTS]
    print(
        f"{'extra':9} "
        + ", ".join(f"p{percent:g} {1000 * one:.2f} ms" for percent, one in zip(PERCENTS, extra, strict=True))
    )
    await asyncio.sleep(8)  # idle connections are closed meanwhile
    after = await state(through)
    for name in before:
        print(f"{name:40} before {before[name]:.0f}, after {after[name]:.0f}")


async def read(url: str, streams: int, tokens: int | None = None) -> list[float]:
    """Read streams at once; the delays of all events in seconds."""
    gc.disable()  # the client's own pauses are nobody's delay
    try:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
            each = await asyncio.gather(
                *(_stream(session, url, SPREAD * number / streams, tokens) for number in range(streams))
            )
    finally:
        gc.enable()
    return [delay for delays in each for delay in delays]


async def _stream(session: aiohttp.ClientSession, url: str, wait: float, tokens: int | None) -> list[float]:
    delays: list[float] = []
    await asyncio.sleep(wait)
    async with session.post(f"{url}/v1/chat/completions", json={**BODY, "model": "big"}) as answer:
        if answer.status != 200:
            raise SystemExit(await answer.text())
        async for part in answer.content.iter_any():
            now = time.monotonic()
            delays += [now - float(one) for one in SENT.findall(part)]
            if tokens is not None and len(delays) >= tokens:
                break
    return delays


async def state(url: str) -> dict[str, float]:
    """What the service says of itself."""
    wanted = ("process_resident_memory_bytes", "process_open_fds", "agentic_rl_tasks", "process_cpu_seconds_total")
    async with aiohttp.ClientSession() as session, session.get(f"{url}/metrics") as answer:
        lines = [line.split() for line in (await answer.text()).splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines if name in wanted}


def at(delays: list[float], percent: float) -> float:
    """The percentile of sorted values."""
    return delays[min(len(delays) - 1, int(len(delays) * percent / 100))]


def shown(delays: list[float]) -> str:
    """The percentiles, for people."""
    return ", ".join(f"p{percent:g} {1000 * at(delays, percent):.2f} ms" for percent in PERCENTS)


@contextlib.contextmanager
def model_server(every: float, tokens: int) -> Iterator[str]:
    """The model server in a process of its own; its address."""
    command = [sys.executable, TESTS / "fake_streams.py", "--interval", str(every), "--tokens", str(tokens)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}"
        finally:
            process.terminate()


@contextlib.contextmanager
def service(server: str) -> Iterator[str]:
    """The service in a process of its own; its address."""
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        command: list[Any] = [sys.executable, "-c", HOLD, server, str(port), folder]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                _wait(port)
                yield f"http://127.0.0.1:{port}"
            finally:
                process.terminate()


def _wait(port: int) -> None:
    import urllib.request

    for _ in range(300):
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1).close()
            return
        time.sleep(0.1)
    raise SystemExit("the service does not come up")


if __name__ == "__main__":
    main()
