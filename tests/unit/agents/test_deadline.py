from __future__ import annotations

import asyncio
import sys

import pytest

from agentic_rl.agents import LateError
from agentic_rl.agents import deadline as module
from agentic_rl.agents.deadline import Deadline


def test_a_block_in_time_is_left_alone() -> None:
    async def run() -> int:
        with Deadline(10, "it"):
            await asyncio.sleep(0)
            return 1

    assert asyncio.run(run()) == 1


def test_a_late_block_leaves_with_late_error() -> None:
    async def run() -> None:
        with pytest.raises(LateError, match=r"the search took longer than 0\.01 s"), Deadline(0.01, "the search"):
            await asyncio.sleep(60)
        await asyncio.sleep(0)  # the task itself is not cancelled

    asyncio.run(run())


def test_other_exceptions_pass() -> None:
    async def run() -> None:
        with Deadline(10, "it"):
            raise KeyError("x")

    with pytest.raises(KeyError):
        asyncio.run(run())


def test_the_outer_of_two_deadlines_counts_when_it_is_late() -> None:
    async def run() -> None:
        with Deadline(0.01, "the outer"), Deadline(10, "the inner"):
            await asyncio.sleep(60)

    with pytest.raises(LateError, match="the outer"):
        asyncio.run(run())


def test_cancellation_from_outside_is_not_taken_for_a_late_block() -> None:
    async def block() -> None:
        with Deadline(10, "it"):
            await asyncio.sleep(60)

    async def run() -> None:
        task = asyncio.ensure_future(block())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_a_block_that_swallows_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_INSIST_EVERY", 0.01)
    swallowed = 0

    async def stubborn() -> None:
        nonlocal swallowed
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            swallowed += 1

    async def run() -> None:
        with Deadline(0.01, "the stubborn one"):
            while swallowed < 3:
                await stubborn()

    async def whole() -> None:
        with pytest.raises(LateError):
            await run()
        if sys.version_info >= (3, 11):
            task = asyncio.current_task()
            assert task is not None
            assert task.cancelling() == 0

    asyncio.run(whole())
    assert swallowed == 3


def test_it_needs_a_running_task() -> None:
    with pytest.raises(RuntimeError), Deadline(1, "it"):
        pass
