from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextvars import ContextVar

import pytest

from agentic_rl.agents.threads import run_in_thread

COLOUR: ContextVar[str] = ContextVar("COLOUR")


def test_results_exceptions_and_context_cross_over() -> None:
    async def run() -> str:
        COLOUR.set("red")
        with pytest.raises(KeyError):
            await run_in_thread(lambda: {}["x"], "failing")
        with pytest.raises(RuntimeError, match="StopIteration"):
            await run_in_thread(lambda: next(iter(())), "stopping")
        return await run_in_thread(COLOUR.get, "reading")

    assert asyncio.run(run()) == "red"


def test_a_result_after_the_await_was_given_up_is_dropped() -> None:
    gate, done = threading.Event(), threading.Event()

    def work() -> None:
        gate.wait(10)
        done.set()

    async def run() -> None:
        task = asyncio.ensure_future(run_in_thread(work, "slow"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        await asyncio.sleep(0.05)  # the result arrives at a cancelled future

    asyncio.run(run())
    assert done.wait(10)


def test_a_thread_that_hangs_does_not_keep_the_process() -> None:
    code = """
import asyncio, time
from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.threads import run_in_thread
async def main():
    try:
        with Deadline(0.05, "sleep"):
            await run_in_thread(lambda: time.sleep(600), "hanging")
    except TimeoutError as error:
        print(error)
asyncio.run(main())
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert shown.stdout.strip() == "sleep took longer than 0.05 s"
