from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from agentic_rl.backends.errors import StopRequestedError
from agentic_rl.backends.interrupts import Interrupts


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


def raise_signal(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_only_asks(number: signal.Signals) -> None:
    told: list[str] = []
    with Interrupts(told.append) as interrupts:
        interrupts.check()
        raise_signal(number)
        assert interrupts.requested
        with pytest.raises(StopRequestedError):
            interrupts.check()
    assert told == [number.name]


def test_the_second_signal_stops_at_once() -> None:
    with Interrupts():
        raise_signal()
        with pytest.raises(KeyboardInterrupt):
            raise_signal()


def test_the_earlier_handlers_come_back() -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with Interrupts():
        assert signal.getsignal(signal.SIGINT) != before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_work_is_cancelled_by_a_signal(loop: asyncio.AbstractEventLoop) -> None:
    cleaned: list[bool] = []

    async def work() -> None:
        loop.call_soon(raise_signal)
        try:
            await asyncio.sleep(60)
        finally:
            cleaned.append(True)

    with Interrupts() as interrupts, pytest.raises(StopRequestedError):
        interrupts.run(loop, work())
    assert cleaned == [True]


def test_work_that_begins_after_a_signal_is_cancelled_at_once(loop: asyncio.AbstractEventLoop) -> None:
    begun: list[bool] = []

    async def work() -> None:
        begun.append(True)

    with Interrupts() as interrupts:
        raise_signal()
        with pytest.raises(StopRequestedError):
            interrupts.run(loop, work())
    assert not begun


def test_work_that_is_not_disturbed_gives_its_result(loop: asyncio.AbstractEventLoop) -> None:
    async def work() -> int:
        await asyncio.sleep(0)
        return 7

    with Interrupts() as interrupts:
        assert interrupts.run(loop, work()) == 7


def test_outside_the_main_thread_signals_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGINT)
    seen: list[object] = []

    def enter() -> None:
        with Interrupts():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert seen == [before]
