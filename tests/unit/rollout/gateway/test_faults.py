"""What goes wrong: engines, budgets, time-outs, and clients that leave or mean harm."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest

from agentic_rl.agents import Agent, Message, Task
from agentic_rl.rollout.engines.base import Completion, EngineFaultError, SamplingParams
from agentic_rl.rollout.gateway import listener
from gateway_doubles import ANSWER, FORMAT, Client, roll, visit
from rollout_doubles import ScriptedEngine, as_sampled

MESSAGES = [{"role": "user", "content": "How many?"}]


class Waiting(ScriptedEngine):
    """An engine whose answers come when they are let go."""

    def __init__(self) -> None:
        super().__init__([ANSWER])
        self.go = asyncio.Event()
        self.asked = asyncio.Event()
        self.cancelled = 0

    async def generate(self, prompt: Sequence[int], sampling: SamplingParams, **options: Any) -> Completion:
        self.asked.set()
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await super().generate(prompt, sampling, **options)


def failing(error: Exception) -> ScriptedEngine:
    def script(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
        if turn == 0:
            raise error
        return as_sampled(ANSWER, sampling)

    return ScriptedEngine(script)


def test_a_failed_call_is_an_error_and_may_be_made_again() -> None:
    async def work(client: Client) -> None:
        status, error = await client.refusal("chat/completions", messages=MESSAGES)
        assert (status, error["type"], error["code"]) == (500, "server_error", "policy_failed")
        assert "no power" in error["message"]
        await client.chat(MESSAGES)

    trajectory = visit(work, failing(EngineFaultError("no power")))
    assert (trajectory.error, trajectory.metrics["turns"]) == ("", 1)
    assert list(trajectory.response_tokens) == ANSWER


def test_what_the_engine_refuses_is_the_clients_mistake() -> None:
    async def work(client: Client) -> None:
        status, error = await client.refusal("chat/completions", messages=MESSAGES)
        assert (status, error["message"]) == (400, "temperature 7: too hot")

    visit(work, failing(ValueError("temperature 7: too hot")))


@pytest.mark.parametrize(
    ("limits", "code"),
    [({"max_steps": 1}, "max_steps_reached"), ({"max_response_length": 9}, "context_length_exceeded")],
)
def test_an_agent_whose_client_raises_at_the_end_of_the_budget_is_judged(limits: dict[str, Any], code: str) -> None:
    class Insists(Agent):
        async def run(self, task: Task, model: Any) -> float:
            async with aiohttp.ClientSession() as session:
                client, messages = Client(session, model), list(task.prompt)
                for _ in range(5):
                    answer = await client.send("POST", "chat/completions", json={"messages": messages})
                    if answer[0] != 200:
                        assert json.loads(answer[1])["error"]["code"] == code
                        raise OSError(answer[1])
                    messages += [json.loads(answer[1])["choices"][0]["message"], *task.prompt]
            return 1.0

        def cut_short(self, task: Task, messages: Sequence[Message]) -> float:
            return 0.25 + len(messages)

    (trajectory,) = roll(Insists(), [ANSWER], **limits)
    assert (trajectory.error, trajectory.trajectory_reward) == ("", 2.25)
    assert trajectory.finish_reason == ("max_steps" if "max_steps" in limits else "length")


def test_a_late_call_is_a_time_out_that_clients_do_not_repeat() -> None:
    async def work(client: Client) -> None:
        async with aiohttp.ClientSession() as session:
            url, headers = (
                f"{client.model.base_url}/chat/completions",
                {"Authorization": f"Bearer {client.model.api_key}"},
            )
            async with session.post(url, json={"messages": MESSAGES}, headers=headers) as response:
                assert (response.status, response.headers["x-should-retry"]) == (504, "false")
                assert (await response.json())["error"]["code"] == "turn_timeout"

    engine = Waiting()
    assert visit(work, engine, turn_timeout=0.05).metrics["turns"] == 0
    assert engine.cancelled == 1


def test_what_a_client_does_not_wait_for_is_not_recorded() -> None:
    engine = Waiting()

    async def work(client: Client) -> None:
        call = asyncio.ensure_future(client.chat(MESSAGES))
        await engine.asked.wait()
        call.cancel()
        while not engine.cancelled:
            await asyncio.sleep(0.01)
        engine.go.set()
        await client.chat(MESSAGES)

    trajectory = visit(work, engine)
    assert (trajectory.metrics["turns"], len(trajectory.parts())) == (1, 1)


def test_a_call_that_runs_at_the_end_of_the_rollout_is_told_so() -> None:
    engine = Waiting()
    late: list[asyncio.Future[tuple[int, str]]] = []

    async def answer(url: str, key: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as session:
            headers = {"Authorization": f"Bearer {key}"}
            async with session.post(url, json={"messages": MESSAGES}, headers=headers) as response:
                return response.status, await response.text()

    class Leaves(Agent):
        async def run(self, task: Task, model: Any) -> float:
            late.append(asyncio.ensure_future(answer(f"{model.base_url}/chat/completions", model.api_key)))
            await engine.asked.wait()
            return 1.0

    class Looks(Agent):
        async def run(self, task: Task, model: Any) -> float:
            if not late:
                return await Leaves().run(task, model)
            status, text = await late[0]
            assert (status, "rollout_ended" in text) == (410, True)
            return 1.0

    first, second = roll(Looks(), engine, [Task(MESSAGES), Task(MESSAGES)], n_parallel_agents=1)
    assert (first.error, second.error, first.metrics["turns"], engine.cancelled) == ("", "", 0, 1)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'"messages"',
        b"[" * 100_000,
        b'{"messages": ' + b"[" * 100_000,
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}',
        b'{"messages": [{"role": "user", "content": "x"}], "temperature": 1e999}',
        b'{"messages": [{"role": "user", "content": "x"}], "seed": ' + b"9" * 5000 + b"}",
        b'{"messages": [{"role": "user", "content": {"a": 1}}]}',
        b'{"messages": [{"role": ["user"], "content": "x"}]}',
    ],
)
def test_broken_bodies_are_refused(payload: bytes) -> None:
    def script(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
        if sampling.temperature > 2:
            raise ValueError("temperature is out of range")  # as engines do
        return as_sampled(ANSWER, sampling)

    async def work(client: Client) -> None:
        status, text = await client.send("POST", "chat/completions", data=payload)
        assert (status, json.loads(text)["error"]["type"]) == (400, "invalid_request_error")
        await client.chat(MESSAGES)

    visit(work, ScriptedEngine(script))


def test_text_with_half_a_pair_comes_and_goes() -> None:
    async def work(client: Client) -> None:
        first = await client.chat([{"role": "user", "content": "\ud800"}])
        await client.chat([{"role": "user", "content": "\ud800"}, first["choices"][0]["message"], *MESSAGES])

    assert len(visit(work, [ANSWER]).parts()) == 1


def test_a_megabyte_of_a_tools_text_is_taken_and_more_than_enough_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "MOST_BYTES", 2 * 2**20)

    async def work(client: Client) -> None:
        status, error = await client.refusal("chat/completions", messages=[{"role": "user", "content": "x" * 2**20}])
        assert (status, error["code"]) == (400, "context_length_exceeded")  # it was read and looked at
        status, error = await client.refusal("chat/completions", messages=[{"role": "user", "content": "x" * 2**21}])
        assert (status, error["code"]) == (413, "body_too_large")

        async def endless() -> Any:
            for _ in range(64):
                yield b"x" * 2**16

        status, _ = await client.send("POST", "chat/completions", data=endless())
        assert status == 413
        await client.chat(MESSAGES)

    def script(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
        return as_sampled(ANSWER, sampling)

    visit(work, ScriptedEngine(script))


def raw(head: Callable[[str, str], bytes]) -> Callable[[Client], Any]:
    """Send bytes and read until the server closes the connection."""

    async def work(client: Client) -> bytes:
        url = urlsplit(client.model.base_url)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(head(f"{url.path}/chat/completions", client.model.api_key))
        answer = await asyncio.wait_for(reader.read(), 10)
        writer.close()
        await client.chat(MESSAGES)
        return answer

    return work


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("", None),
        ("POST {path}", None),
        ("POST {path} HTTP/1.1\r\nHost: x\r\nX-Slow: ", None),
        ("POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Length: 99\r\n\r\n{{", 408),
        ("\x00\x01\x02\r\n\r\n", 400),
        ("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        ("POST {path} HTTP/1.1\r\nHost: x\r\nX: " + "y" * 100_000 + "\r\n\r\n", 400),
    ],
)
def test_half_and_slow_requests_are_ended(request_: str, status: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listener, "ARRIVAL_SECONDS", 0.2)
    answers: list[bytes] = []

    async def work(client: Client) -> None:
        send = raw(lambda path, key: request_.format(path=path, key=key).encode())
        answers.append(await send(client))

    visit(work, [ANSWER])
    assert answers[0].partition(b"\r\n")[0].split()[1:2] == ([str(status).encode()] if status else [])


def test_many_clients_of_many_trajectories_at_once() -> None:
    class Asks(Agent):
        async def run(self, task: Task, model: Any) -> float:
            async with aiohttp.ClientSession() as session:
                client, messages = Client(session, model), list(task.prompt)
                for _ in range(3):
                    answer = await client.chat(messages)
                    messages += [answer["choices"][0]["message"], *task.prompt]
            return 1.0

    results = roll(Asks(), [ANSWER], [Task(MESSAGES, idx=place) for place in range(60)])
    assert {(one.error, one.metrics["turns"], len(one.parts())) for one in results} == {("", 3, 1)}
    assert FORMAT.text(ANSWER) == "84 it is"


def test_a_run_without_async_may_block() -> None:
    from urllib.request import Request, urlopen

    class Blocks(Agent):
        def run(self, task: Task, model: Any) -> float:  # type: ignore[override]
            body = json.dumps({"messages": task.prompt}).encode()
            headers = {"Authorization": f"Bearer {model.api_key}"}
            with urlopen(Request(f"{model.base_url}/chat/completions", body, headers), timeout=20) as response:
                return float("84" in json.load(response)["choices"][0]["message"]["content"])

    (trajectory,) = roll(Blocks(), [ANSWER])
    assert (trajectory.error, trajectory.trajectory_reward) == ("", 1.0)
