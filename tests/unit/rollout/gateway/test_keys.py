"""Who may speak to which trajectory, and until when."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from agentic_rl.agents import Agent, Task
from agentic_rl.rollout.gateway.keys import Keys
from gateway_doubles import ANSWER, Client, Visitor, roll, visit
from rollout_doubles import ScriptedEngine, make_task

BODY = {"messages": [{"role": "user", "content": "How many?"}]}


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer sk-rollout-0", "Basic {key}", "{key}", "Bearer {key}x", "Bearer ключ"]
)
def test_a_wrong_key_opens_nothing(header: str) -> None:
    keys = Keys()
    assert not keys.fits(7, header.format(key=keys.key(7)))
    assert not keys.fits(8, f"Bearer {keys.key(7)}")
    assert not Keys().fits(7, f"Bearer {keys.key(7)}")
    assert keys.fits(7, f"bearer  {keys.key(7)} ")


def test_each_trajectory_has_a_place_of_its_own() -> None:
    models: list[Any] = []
    both = asyncio.Event()

    async def work(client: Client) -> None:
        models.append(client.model)
        if len(models) == 2:
            both.set()
        await both.wait()
        other = models[0] if models[1] is client.model else models[1]
        assert (await client.send("POST", "chat/completions", json=BODY))[0] == 200
        assert (await client.send("POST", f"{other.base_url}/chat/completions", json=BODY))[0] == 401
        assert (await client.send("GET", f"{other.base_url}/models"))[0] == 401

    one, two = roll(visitor := Visitor(work), [ANSWER], [make_task(), make_task()])
    assert visitor.failure is None
    assert (one.metrics["turns"], two.metrics["turns"]) == (1, 1)
    assert models[0].base_url != models[1].base_url


def test_after_its_end_a_trajectory_is_gone() -> None:
    ended: list[tuple[str, str]] = []

    async def work(client: Client) -> None:
        if ended:
            url, key = ended[0]
            status, text = await client.send("POST", f"{url}/chat/completions", key, json=BODY)
            assert (status, "rollout_ended" in text) == (410, True)
            assert (await client.send("POST", f"{url}/chat/completions", json=BODY))[0] == 401
        ended.append((client.model.base_url, client.model.api_key))

    roll(visitor := Visitor(work), [ANSWER], [make_task(), make_task()], n_parallel_agents=1)
    assert visitor.failure is None
    assert len(ended) == 2


def test_an_address_asked_for_too_late_is_refused() -> None:
    kept: list[Any] = []

    class Keeps(Agent):
        async def run(self, task: Task, model: Any) -> float:
            kept.append(model)
            return 1.0

    roll(Keeps())
    with pytest.raises(RuntimeError, match="has ended"):
        kept[0].base_url  # noqa: B018


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "models", 200),
        ("GET", "models/any/name", 200),
        ("POST", "models", 405),
        ("GET", "chat/completions", 405),
        ("DELETE", "responses", 405),
        ("POST", "embeddings", 404),
        ("POST", "../../v1/chat/completions", 401),
    ],
)
def test_paths_and_methods(method: str, path: str, status: int) -> None:
    async def work(client: Client) -> None:
        got, text = await client.send(method, path)
        assert got == status, text
        root = client.model.base_url.rsplit("/", 2)[0]
        for other in ("/", "/x/v1/models", "/99999999999999999999/v1/models", f"/{'9' * 5000}"):
            assert (await client.send("GET", root + other))[0] == 404
        assert (await client.send("GET", f"{root}/v1/models"))[0] == 401

    visit(work, [ANSWER])


def test_pages_in_a_browser_are_refused() -> None:
    async def work(client: Client) -> None:
        status, _ = await client.send("POST", "chat/completions", json=BODY, headers={"Origin": "http://evil.example"})
        assert status == 403

    visit(work, ScriptedEngine([ANSWER]))


def test_no_server_runs_for_agents_that_do_not_ask() -> None:
    class Quiet(Agent):
        async def run(self, task: Task, model: Any) -> float:
            await model.chat(task.prompt)
            return float(model.spent)

    (trajectory,) = roll(Quiet(), [ANSWER])
    assert trajectory.trajectory_reward == 0.0


def test_a_driver_may_run_on_another_loop_later() -> None:
    from agentic_rl.rollout.driver import Driver
    from gateway_doubles import FORMAT, LIMITS

    async def work(client: Client) -> None:
        await client.chat(BODY["messages"])

    visitor = Visitor(work)
    driver = Driver(ScriptedEngine([ANSWER]), FORMAT, **LIMITS)  # type: ignore[arg-type]
    for _ in range(2):
        (trajectory,) = asyncio.run(driver.run(visitor, [make_task()]))
        assert trajectory.error == ""
    asyncio.run(driver.close())


def test_a_closed_gateway_does_not_answer() -> None:
    address: list[str] = []

    async def work(client: Client) -> None:
        address.append(client.model.base_url)
        await client.send("GET", "models")

    visit(work)

    async def again() -> None:
        async with aiohttp.ClientSession() as session:
            with pytest.raises(aiohttp.ClientConnectionError):
                await session.get(f"{address[0]}/models")

    asyncio.run(again())
