"""A bounded number of workers that go through a list of jobs together."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Generic, TypeVar

_LOGGER = logging.getLogger(__name__)
_INSIST_EVERY = 1.0
_INSISTENCES = 10
"""How often a job that swallows its cancellation is cancelled before the crew stops without it."""
Job = TypeVar("Job")
Result = TypeVar("Result")


class Crew(Generic[Job, Result]):
    """Workers for one list of jobs."""

    def __init__(self, workers: int) -> None:
        self.stopping = False
        """Whether the crew cancels its jobs; a CancelledError that comes earlier is a job's own affair."""
        self._workers = workers
        self._left: Iterator[tuple[int, Job]] = iter(())
        self._tasks: set[asyncio.Task[None]] = set()
        self._places: dict[Any, int] = {}
        """A worker's task -> the number of the job that it is in."""
        self._finished: deque[tuple[int, Result]] = deque()
        self._room = asyncio.Semaphore(workers)
        self._news = asyncio.Event()
        self._failure: BaseException | None = None

    async def work_through(self, jobs: Sequence[Job], work: Callable[[Job], Awaitable[Result]]) -> list[Result]:
        """Await `work` for every job, a bounded number at a time; results in the order of the jobs.

        When this is cancelled, or `work` raises, the other jobs are cancelled and none is left behind.
        """
        async with aclosing(self.results(jobs, work)) as finished:
            results = {place: result async for place, result in finished}
        return [results[place] for place in range(len(jobs))]

    async def results(
        self, jobs: Sequence[Job], work: Callable[[Job], Awaitable[Result]]
    ) -> AsyncGenerator[tuple[int, Result], None]:
        """Give each result as it comes, with the number of its job.

        As long as results are not taken, few jobs are begun: at most one result for each worker waits, and each worker
        holds another. Closing the generator cancels what still runs.
        """
        self._left = iter(enumerate(jobs))
        try:
            for _ in range(min(self._workers, len(jobs))):
                self._start(work)
            for _ in range(len(jobs)):
                yield await self._next()
        finally:
            await self._stop()

    def give_up(self, worker: object, result: Result, work: Callable[[Job], Awaitable[Result]]) -> None:
        """Go on without a worker's task that can't be stopped; `result` stands for the job that it is in."""
        place = self._places.pop(worker, None)
        if place is not None and not self.stopping:
            self._tasks.discard(worker)
            self._start(work, (place, result))

    def _start(self, work: Callable[[Job], Awaitable[Result]], first: tuple[int, Result] | None = None) -> None:
        task = asyncio.ensure_future(self._work(work, first))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _work(self, work: Callable[[Job], Awaitable[Result]], first: tuple[int, Result] | None) -> None:
        if first is not None:
            await self._hand_over(*first)
        me = asyncio.current_task()
        for place, job in self._left:
            self._places[me] = place
            result = await work(job)
            if self._places.pop(me, None) is None:
                return  # it was given up; another worker is in its place
            await self._hand_over(place, result)

    async def _hand_over(self, place: int, result: Result) -> None:
        await self._room.acquire()
        self._finished.append((place, result))
        self._news.set()

    async def _next(self) -> tuple[int, Result]:
        while not self._finished:
            if self._failure is not None:
                raise self._failure
            self._news.clear()
            await self._news.wait()
        self._room.release()
        return self._finished.popleft()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task in self._tasks and not self.stopping:
            failure = asyncio.CancelledError() if task.cancelled() else task.exception()
            self._failure = self._failure or failure
            self._news.set()
        elif not task.cancelled():
            task.exception()  # nobody else asks for it
        self._tasks.discard(task)

    async def _stop(self) -> None:
        self.stopping = True
        left = set(self._tasks)
        for _ in range(_INSISTENCES):
            for task in left:
                task.cancel()
            if not left:
                return
            _, left = await asyncio.wait(left, timeout=_INSIST_EVERY)
        if left:
            _LOGGER.warning("%d rollouts swallow their cancellation; they are left running", len(left))
