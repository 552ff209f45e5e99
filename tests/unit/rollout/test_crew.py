from __future__ import annotations

import asyncio

import pytest

from agentic_rl.rollout.crew import Crew


def test_results_come_in_the_order_of_the_jobs_and_few_run_at_once() -> None:
    running = most = 0

    async def work(job: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001 * (5 - job % 5))
        running -= 1
        return job * 10

    assert asyncio.run(Crew(3).work_through(range(20), work)) == [job * 10 for job in range(20)]
    assert most == 3
    assert asyncio.run(Crew(3).work_through([], work)) == []


def test_an_exception_stops_the_crew_and_leaves_nothing_behind() -> None:
    cancelled = []

    async def work(job: int) -> int:
        if job == 2:
            raise KeyError(job)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(job)
            raise
        return job

    async def run() -> None:
        with pytest.raises(KeyError):
            await Crew(8).work_through(range(4), work)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
    assert sorted(cancelled) == [0, 1, 3]


def test_cancelling_it_cancels_the_jobs_after_saying_so() -> None:
    crew = Crew(2)
    seen = []

    async def work(job: int) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append(crew.stopping)
            raise

    async def run() -> None:
        whole = asyncio.ensure_future(crew.work_through(range(5), work))
        await asyncio.sleep(0.01)
        whole.cancel()
        with pytest.raises(asyncio.CancelledError):
            await whole
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
    assert seen == [True, True]
