"""What may block the event loop, and whom the watchdog leaves alone."""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from typing import Any

import pytest

from agentic_rl.agents.errors import LateError
from agentic_rl.rollout.engines.base import SamplingParams
from agentic_rl.rollout.engines.queue import QueueEngine
from agentic_rl.rollout.engines.requests import Row
from agentic_rl.rollout.watchdog import ROLLOUT, Watchdog

SECONDS = 0.2


class SlowEngine(QueueEngine):
    """Each of its steps takes longer than an agent may block."""

    def __init__(self) -> None:
        super().__init__(max_model_len=9, vocab_size=9)
        self._rows: list[Row] = []

    def release(self, session: str) -> None: ...

    def weights_changed(self) -> None: ...

    def _running(self) -> list[Row]:
        return self._rows

    def _busy(self) -> bool:
        return bool(self._rows)

    def _drop(self) -> None:
        self._rows = []

    def _step(self) -> list[Row]:
        time.sleep(4 * SECONDS)
        rows = [self._waiting.popleft() for _ in range(len(self._waiting))]
        for row in rows:
            row.append(1, -0.5)
        return rows


async def guarded(work: Any, *, rollout: bool) -> Any:
    ROLLOUT.set(rollout)
    with Watchdog(SECONDS):
        await asyncio.sleep(0)
        return await work()


async def blocking() -> str:
    time.sleep(5 * SECONDS)
    return "it was let"


def test_an_agents_blocking_code_is_interrupted() -> None:
    start = time.monotonic()
    with pytest.raises(LateError, match="held up all rollouts"):
        asyncio.run(guarded(blocking, rollout=True))
    assert time.monotonic() - start < 4 * SECONDS


def test_a_slow_step_of_the_engine_and_other_code_are_not() -> None:
    engine = SlowEngine()
    params = SamplingParams(1)
    completion = asyncio.run(guarded(lambda: engine.generate([1], params), rollout=True))
    assert completion.tokens == [1]
    assert asyncio.run(guarded(blocking, rollout=False)) == "it was let"


def test_a_loop_that_turns_and_one_of_another_thread_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(signal, "pthread_kill", lambda thread, number: sent.append(number))

    async def awaits() -> None:
        await asyncio.sleep(3 * SECONDS)

    asyncio.run(guarded(awaits, rollout=True))
    thread = threading.Thread(target=lambda: asyncio.run(guarded(blocking, rollout=True)))
    thread.start()
    thread.join()
    assert not sent
