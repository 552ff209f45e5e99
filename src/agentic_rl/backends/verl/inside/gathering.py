"""Makes batches out of tasks that arrive one by one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from agentic_rl.agents.task import Task

Result = TypeVar("Result")

QUIET_TIME = 0.5
"""Seconds without a new task after which a batch counts as complete: many times what verl takes between two."""


@dataclass(frozen=True)
class Arrival:
    """A task, and what the copies of its prompt have in common."""

    task: Task
    group: str


class Gathering(Generic[Result]):
    """Hands tasks on as one batch once no new one has come for a quiet time.

    verl starts each rollout on its own and does not say how many a worker will get, so the end of a step's tasks can
    only be seen by their staying away. What comes later makes a further batch, after the first one has ended: correct,
    but with fewer rollouts at a time. The copies of a prompt stand next to each other, and `idx` of a task is the
    number of its prompt in the batch.
    """

    def __init__(
        self, run: Callable[[Sequence[Task]], Awaitable[Sequence[Result]]], quiet_time: float = QUIET_TIME
    ) -> None:
        self._run = run
        self._quiet_time = quiet_time
        self._waiting: list[tuple[Arrival, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def __call__(self, arrival: Arrival) -> Result:
        """Wait for the batch of this task, and for its result.

        Raises:
            Exception: what the batch raised.
        """
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((arrival, future))
        if self._worker is None:
            self._worker = asyncio.ensure_future(self._work())
        return await future

    async def _work(self) -> None:
        try:
            while self._waiting:
                await self._quiet()
                batch, self._waiting = self._waiting, []
                await self._deliver(batch)
        finally:
            self._worker = None

    async def _quiet(self) -> None:
        seen = 0
        while len(self._waiting) != seen:
            seen = len(self._waiting)
            await asyncio.sleep(self._quiet_time)

    async def _deliver(self, batch: Sequence[tuple[Arrival, asyncio.Future[Result]]]) -> None:
        groups = {group: number for number, group in enumerate(dict.fromkeys(arrival.group for arrival, _ in batch))}
        ordered = sorted(batch, key=lambda one: (groups[one[0].group], one[0].task.sample))
        try:
            results = await self._run([replace(one.task, idx=groups[one.group]) for one, _ in ordered])
        except Exception as error:
            for _, future in ordered:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), result in zip(ordered, results, strict=True):
            if not future.done():  # it is where verl has given the rollout up
                future.set_result(result)
