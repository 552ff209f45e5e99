"""A bounded number of workers that go through a list of jobs together."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")


class Crew:
    """Workers for one list of jobs."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self.stopping = False
        """Whether the crew cancels its jobs; a CancelledError that comes earlier is a job's own affair."""

    async def work_through(self, jobs: Sequence[Job], work: Callable[[Job], Awaitable[Result]]) -> list[Result]:
        """Await `work` for every job, a bounded number at a time; results in the order of the jobs.

        When this is cancelled, or `work` raises, the other jobs are cancelled and none is left behind.
        """
        results: dict[int, Result] = {}
        left = iter(enumerate(jobs))

        async def worker() -> None:
            for place, job in left:
                results[place] = await work(job)

        tasks = [asyncio.ensure_future(worker()) for _ in range(min(self._workers, len(jobs)))]
        try:
            if tasks:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            self.stopping = True
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled():
                task.result()  # raises what a job raised
        return [results[place] for place in range(len(jobs))]
