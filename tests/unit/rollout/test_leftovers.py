from __future__ import annotations

import asyncio
import contextlib

import pytest

from agentic_rl.rollout.leftovers import cancel_all


async def stubborn(end: asyncio.Event) -> None:
    while not end.is_set():
        with contextlib.suppress(asyncio.CancelledError):
            await end.wait()


def test_what_an_agent_left_running_ends_with_the_loop() -> None:
    loop = asyncio.new_event_loop()
    task = loop.create_task(asyncio.sleep(1000))
    cancel_all(loop)
    assert task.cancelled()
    cancel_all(loop)  # nothing is left
    loop.close()


def test_what_swallows_its_cancellation_is_named_and_not_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    loop = asyncio.new_event_loop()
    end = asyncio.Event()
    task = loop.create_task(stubborn(end))
    loop.run_until_complete(asyncio.sleep(0))
    cancel_all(loop, seconds=0.05)
    assert "1 tasks swallow their cancellation and end with the program (stubborn)" in caplog.text
    end.set()
    loop.run_until_complete(task)
    loop.close()
