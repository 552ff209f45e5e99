from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from agentic_rl.agents.task import Task
from agentic_rl.backends.verl.inside.gathering import Arrival, Gathering
from rollout_doubles import make_task


def arrivals(groups: str) -> list[Arrival]:
    """One for each letter; the letter is its group."""
    seen: dict[str, int] = {}
    made = []
    for letter in groups:
        seen[letter] = seen.get(letter, -1) + 1
        made.append(Arrival(make_task(letter, sample=seen[letter], idx=99), letter))
    return made


class Batches:
    def __init__(self) -> None:
        self.seen: list[list[tuple[str, int, int]]] = []
        self.running = 0

    async def __call__(self, tasks: Sequence[Task]) -> list[str]:
        assert self.running == 0
        self.running += 1
        await asyncio.sleep(0.03)
        self.running -= 1
        self.seen.append([(task.prompt[0]["content"], task.idx, task.sample) for task in tasks])
        return [f"{task.prompt[0]['content']}{task.sample}" for task in tasks]


def test_what_arrives_close_together_is_one_batch_with_the_copies_of_a_prompt_side_by_side() -> None:
    async def whole() -> tuple[list[str], Batches]:
        batches = Batches()
        gathering: Gathering[str] = Gathering(batches, quiet_time=0.05)

        async def one(place: int, arrival: Arrival) -> str:
            await asyncio.sleep(0.01 * place)
            return await gathering(arrival)

        return await asyncio.gather(*map(one, range(6), arrivals("bababc"))), batches

    results, batches = asyncio.run(whole())
    assert results == ["b0", "a0", "b1", "a1", "b2", "c0"]
    assert batches.seen == [
        [("b", 0, 0), ("b", 0, 1), ("b", 0, 2), ("a", 1, 0), ("a", 1, 1), ("c", 2, 0)],
    ]


def test_what_comes_later_is_a_batch_after_the_first() -> None:
    async def whole() -> list[list[tuple[str, int, int]]]:
        batches = Batches()
        gathering: Gathering[str] = Gathering(batches, quiet_time=0.01)
        first = [asyncio.ensure_future(gathering(arrival)) for arrival in arrivals("ab")]
        await asyncio.sleep(0.03)  # the first batch runs
        assert await gathering(arrivals("c")[0]) == "c0"
        assert [await one for one in first] == ["a0", "b0"]
        return batches.seen

    assert asyncio.run(whole()) == [[("a", 0, 0), ("b", 1, 0)], [("c", 0, 0)]]


def test_an_error_reaches_every_rollout_of_the_batch_and_the_next_batch_runs() -> None:
    calls = []

    async def fails_once(tasks: Sequence[Task]) -> list[int]:
        calls.append(len(tasks))
        if len(calls) == 1:
            raise ValueError("no")
        return [1] * len(tasks)

    async def whole() -> None:
        gathering: Gathering[int] = Gathering(fails_once, quiet_time=0.01)
        failed = await asyncio.gather(*map(gathering, arrivals("ab")), return_exceptions=True)
        assert list(map(str, failed)) == ["no", "no"]
        given_up = asyncio.ensure_future(gathering(arrivals("d")[0]))
        kept = asyncio.ensure_future(gathering(arrivals("e")[0]))
        await asyncio.sleep(0)
        given_up.cancel()
        assert await kept == 1
        with pytest.raises(asyncio.CancelledError):
            await given_up

    asyncio.run(whole())
    assert calls == [2, 2]
