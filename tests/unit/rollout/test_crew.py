from __future__ import annotations

import asyncio
import contextlib
from contextlib import aclosing

import pytest

from agentic_rl.rollout import crew as crew_module
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
    crew = Crew[int, None](2)
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


def test_results_come_as_they_are_ready_and_no_more_are_made_than_are_taken() -> None:
    begun: list[int] = []

    async def work(job: int) -> int:
        begun.append(job)
        await asyncio.sleep(0.05 if job == 0 else 0)
        return job

    async def run() -> list[int]:
        places = []
        async with aclosing(Crew[int, int](2).results(range(20), work)) as finished:
            async for place, _ in finished:
                places.append(place)
                if len(places) == 1:
                    await asyncio.sleep(0.02)
                    # taken: 1; waiting: 2; held by workers: 1, and job 0, which runs
                    assert len(begun) == 5
        return places

    places = asyncio.run(run())
    assert sorted(places) == list(range(20))
    assert places[0] == 1


def test_closing_early_cancels_what_runs() -> None:
    ended: list[int] = []

    async def work(job: int) -> int:
        try:
            await asyncio.sleep(job)
        finally:
            ended.append(job)
        return job

    async def run() -> None:
        async with aclosing(Crew[int, int](3).results(range(9), work)) as finished:
            async for place, _ in finished:
                assert place == 0
                break
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
    assert len(ended) == 4


def test_a_job_that_can_not_be_stopped_is_given_up() -> None:
    release = asyncio.Event()
    late: list[int] = []

    async def run() -> list[int]:
        crew = Crew[int, int](2)
        loop = asyncio.get_running_loop()

        async def work(job: int) -> int:
            if job == 1:
                loop.call_later(0.01, crew.give_up, asyncio.current_task(), -1, work)
                await release.wait()
                late.append(job)
            return job

        results = await crew.work_through(range(6), work)
        release.set()
        await asyncio.sleep(0.01)
        return results

    assert asyncio.run(run()) == [0, -1, 2, 3, 4, 5]
    assert late == [1]


def test_jobs_that_swallow_their_cancellation_do_not_keep_it_from_stopping(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(crew_module, "_INSIST_EVERY", 0.01)
    stop = asyncio.Event()

    async def work(job: int) -> int:
        while not stop.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await stop.wait()
        return job

    async def run() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(Crew[int, int](2).work_through(range(2), work), 0.01)
        stop.set()
        await asyncio.sleep(0.01)

    asyncio.run(run())
    assert "2 rollouts swallow their cancellation" in caplog.text
