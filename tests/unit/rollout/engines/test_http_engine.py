"""The engine over HTTP, against a fake server on loopback that does what a broken one may do."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.rollout.engines import http_pool
from agentic_rl.rollout.engines.base import (
    Completion,
    EngineClosedError,
    EngineFaultError,
    PromptTooLongError,
    SamplingParams,
)
from agentic_rl.rollout.engines.http_engine import HttpEngine
from agentic_rl.rollout.engines.http_faults import (
    ServerFaultError,
    ServerRefusedError,
    ServerUnsuitableError,
)
from fake_vllm import FAULTS, FakeServer
from http_doubles import CALL, PROMPT, QUICK, SAMPLING, failing, with_servers


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(1000):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it did not come true within 5 s")


def test_token_ids_go_out_and_come_back_with_their_logprobs() -> None:
    server = FakeServer()
    sampling = SamplingParams(max_tokens=9, top_k=5, top_p=0.5, min_p=0.1, stop_token_ids=(7, 9), seed=2**63 - 1)

    async def body(engine: HttpEngine) -> Completion:
        assert engine.max_model_len == 4096
        return await engine.generate((1, 2, 3), sampling, session="a")

    assert with_servers(server)(body) == CALL
    sent = json.loads(server.requests[-1])
    assert sent == {
        "model": "policy",
        "prompt": PROMPT,
        "max_tokens": 9,
        "temperature": 1.0,
        "top_k": 5,
        "top_p": 0.5,
        "min_p": 0.1,
        "repetition_penalty": 1.0,
        "stop_token_ids": [7, 9],
        "seed": 2**63 - 1,
        "logprobs": 0,
        "return_token_ids": True,
    }


@pytest.mark.parametrize(
    "fault",
    [
        *FAULTS,
        "not http",
        "endless",
        "deep",
        '{"token_ids": [5]}',
        '{"token_ids": []}',
        '{"token_ids": null}',
        '{"token_ids": [5, 6, 7.5]}',
        '{"token_ids": [5, 6, -7]}',
        '{"token_ids": [5, 6, 1e400]}',
        '{"token_ids": [5, 6, 99999999999999999999]}',
        '{"token_ids": {"0": 5}}',
        '{"logprobs": null}',
        '{"logprobs": {"token_logprobs": [-1, null, -1]}}',
        '{"logprobs": {"token_logprobs": [-1, NaN, -1]}}',
        '{"logprobs": {"token_logprobs": [-1, -Infinity, -1]}}',
        '{"logprobs": {"token_logprobs": [-1, 2.0, -1]}}',
        '{"finish_reason": "abort"}',
        '{"prompt_token_ids": null}',
    ],
)
def test_a_fault_costs_another_try_and_is_counted(fault: str) -> None:
    server = FakeServer(plan=failing(fault))

    async def body(engine: HttpEngine) -> Completion:
        completion = await engine.generate(PROMPT, SAMPLING)
        assert [server.faults for server in engine.servers] == [int(fault != "429")]  # a busy server is well
        assert engine.servers[0].in_flight == 0
        return completion

    assert with_servers(server)(body) == CALL
    assert server.asked == 3


def test_what_never_works_ends_with_the_last_cause() -> None:
    server = FakeServer(plan=failing(*["500"] * 9))

    async def body(engine: HttpEngine) -> None:
        with pytest.raises(EngineFaultError, match=r"^3 tries failed, the last one so: .*status 500: .*injected"):
            await engine.generate(PROMPT, SAMPLING)

    with_servers(server, tries=3)(body)
    assert server.asked == 4


def test_a_request_that_is_wrong_is_not_sent_again() -> None:
    server = FakeServer(plan=failing("400"))

    async def body(engine: HttpEngine) -> None:
        with pytest.raises(ServerRefusedError, match=r"status 400: .*injected"):
            await engine.generate(PROMPT, SAMPLING)

    with_servers(server)(body)
    assert server.asked == 2


def test_prompts_and_sampling_are_checked_before_they_are_sent() -> None:
    server = FakeServer(max_model_len=8)

    async def body(engine: HttpEngine) -> None:
        with pytest.raises(PromptTooLongError, match="has 8 tokens, but the servers' max_model_len is 8"):
            await engine.generate([1] * 8, SAMPLING)
        with pytest.raises(ValueError, match="empty"):
            await engine.generate([], SAMPLING)
        with pytest.raises(ValueError, match="top_p is 0"):
            await engine.generate(PROMPT, SamplingParams(max_tokens=1, top_p=0))
        await engine.generate(PROMPT, SAMPLING)

    with_servers(server)(body)
    assert json.loads(server.requests[-1])["max_tokens"] == 5


def test_logprobs_that_are_not_of_the_sampling_temperature_are_refused() -> None:
    async def raw(engine: HttpEngine) -> None:
        with pytest.raises(ValueError, match=r"temperature 0\.7: .*--logprobs-mode processed_logprobs"):
            await engine.generate(PROMPT, SamplingParams(max_tokens=9, temperature=0.7))
        assert await engine.generate(PROMPT, SamplingParams(max_tokens=9, temperature=0.0)) == CALL
        assert await engine.generate(PROMPT, SamplingParams(max_tokens=9, top_p=0.7)) == CALL

    async def processed(engine: HttpEngine) -> None:
        with pytest.raises(ValueError, match="turn these three off"):
            await engine.generate(PROMPT, SamplingParams(max_tokens=9, temperature=0.7, top_p=0.9))
        await engine.generate(PROMPT, SamplingParams(max_tokens=9, temperature=0.7))

    async def any_will_do(engine: HttpEngine) -> None:
        await engine.generate(PROMPT, SamplingParams(max_tokens=9, temperature=0.7))

    with_servers(FakeServer())(raw)
    with_servers(FakeServer(logprob=0.0))(processed)
    with_servers(FakeServer(), exact_logprobs=False)(any_will_do)


def test_a_session_stays_with_its_server_and_new_ones_go_where_least_is_to_do() -> None:
    servers = [FakeServer(latency=0.02), FakeServer(latency=0.02)]

    async def body(engine: HttpEngine) -> None:
        for _ in range(3):
            await asyncio.gather(*(engine.generate([name], SAMPLING, session=str(name)) for name in range(1, 11)))
        assert [server.sessions for server in engine.servers] == [5, 5]
        for name in range(1, 11):
            engine.release(str(name))
        engine.release("unknown")
        assert [server.sessions for server in engine.servers] == [0, 0]

    with_servers(*servers)(body)
    seen = [{json.loads(body)["prompt"][0] for body in server.requests[1:]} for server in servers]
    assert [len(names) for names in seen] == [5, 5]
    assert [len(server.requests) for server in servers] == [16, 16]
    assert not seen[0] & seen[1]


def test_when_a_server_dies_its_sessions_go_on_elsewhere_until_it_is_back() -> None:
    first, second = FakeServer(), FakeServer()

    async def body(engine: HttpEngine) -> None:
        await asyncio.gather(*(engine.generate(PROMPT, SAMPLING, session=str(name)) for name in range(6)))
        await first.stop()
        answers = await asyncio.gather(*(engine.generate(PROMPT, SAMPLING, session=str(name)) for name in range(6)))
        assert answers == [CALL] * 6
        assert [(server.up, server.sessions) for server in engine.servers] == [(False, 0), (True, 6)]
        await first.start()
        await until(lambda: engine.servers[0].up)
        await engine.generate(PROMPT, SAMPLING, session="new")
        assert [(server.up, server.sessions) for server in engine.servers] == [(True, 1), (True, 6)]

    with_servers(first, second)(body)


def test_while_all_servers_are_down_requests_wait_then_fail() -> None:
    server = FakeServer()

    async def body(engine: HttpEngine) -> None:
        await server.stop()
        waiting = asyncio.ensure_future(engine.generate(PROMPT, SAMPLING))
        await asyncio.sleep(0.1)
        await server.start()
        assert await waiting == CALL
        await server.stop()
        with pytest.raises(ServerFaultError, match=r"no server was up for 0\.3 s \(http://127\.0\.0\.1:\d+: Conn"):
            await engine.generate(PROMPT, SAMPLING)

    with_servers(server, tries=3)(body)


def test_a_server_that_fails_again_and_again_gets_no_requests_until_it_is_well() -> None:
    bad = FakeServer()
    good = FakeServer()

    async def body(engine: HttpEngine) -> None:
        bad.plan = lambda number, body: "500"
        answers = await asyncio.gather(*(engine.generate(PROMPT, SAMPLING, session=str(name)) for name in range(40)))
        assert answers == [CALL] * 40
        assert [server.up for server in engine.servers] == [False, True]
        bad.plan = None
        await until(lambda: engine.servers[0].up)

    with_servers(bad, good, tries=30)(body)


def test_a_thousand_requests_with_faults_lose_nothing() -> None:
    kinds = iter(range(10**9))
    servers = [FakeServer(plan=lambda number, body: FAULTS[next(kinds) % 7] if number % 20 == 19 else "")] * 1
    servers += [FakeServer(plan=servers[0].plan)]

    async def body(engine: HttpEngine) -> None:
        asked = [[number, *PROMPT] for number in range(1000)]
        answers = await asyncio.gather(*(engine.generate(prompt, SAMPLING, session=str(prompt[0])) for prompt in asked))
        assert answers == [CALL] * 1000
        assert all(server.in_flight == 0 for server in engine.servers)

    with_servers(*servers, try_timeout=1.0)(body)


def test_a_server_that_hangs_is_found_before_its_requests_are_late(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_pool, "CHECK_SECONDS", 0.03)
    servers = [FakeServer(latency=0.01), FakeServer(latency=0.01)]

    async def body(engine: HttpEngine) -> None:
        servers[0].silent = True
        answers = await asyncio.gather(*(engine.generate(PROMPT, SAMPLING, session=str(name)) for name in range(20)))
        assert answers == [CALL] * 20
        assert [(server.up, server.sessions) for server in engine.servers] == [(False, 0), (True, 20)]

    with_servers(*servers, try_timeout=60.0)(body)


def test_closing_stops_checks_and_refuses_requests() -> None:
    server = FakeServer()

    async def body(engine: HttpEngine) -> None:
        await server.stop()
        with pytest.raises(ServerFaultError):
            await engine.generate(PROMPT, SAMPLING)
        await engine.close()
        await engine.close()
        with pytest.raises(EngineClosedError):
            await engine.generate(PROMPT, SAMPLING)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    with_servers(server, tries=1)(body)


def test_a_cancelled_call_closes_its_connection() -> None:
    server = FakeServer(plan=failing("hang"))

    async def body(engine: HttpEngine) -> None:
        call = asyncio.ensure_future(engine.generate(PROMPT, SAMPLING))
        await until(lambda: server.asked == 2)
        assert len(server.connections) == 1
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await until(lambda: not server.connections)
        assert engine.servers[0].in_flight == 0

    with_servers(server, try_timeout=60, check_every=60)(body)


@pytest.mark.parametrize(
    ("server", "settings", "error", "message"),
    [
        (FakeServer(token_ids=False), {}, ServerUnsuitableError, r"without token ids.*vLLM 0\.10\.2 or newer"),
        (FakeServer(max_model_len=None), {}, ServerUnsuitableError, "does not say its max_model_len"),
        (FakeServer(), {"model": "other"}, ServerUnsuitableError, "serves policy, not other"),
        (FakeServer(api_key="secret"), {}, ServerRefusedError, "status 401.*api_key"),
        (FakeServer(plan=lambda *_: "hang"), {}, ServerFaultError, r"no server answers.*within 0\.2 s"),
        (FakeServer(plan=lambda *_: "garbage"), {}, ServerFaultError, "not JSON"),
    ],
)
def test_servers_that_can_not_be_used_are_refused_at_the_start(
    server: FakeServer, settings: dict[str, Any], error: type[Exception], message: str
) -> None:
    async def body(engine: HttpEngine) -> None:
        raise AssertionError("connected")

    with pytest.raises(error, match=message):
        with_servers(server, **settings)(body)


def test_the_key_is_sent() -> None:
    async def body(engine: HttpEngine) -> Completion:
        return await engine.generate(PROMPT, SAMPLING)

    assert with_servers(FakeServer(api_key="secret"), api_key="secret")(body) == CALL


def test_one_server_is_enough_to_start() -> None:
    dead, alive = FakeServer(), FakeServer()

    async def body(engine: HttpEngine) -> None:
        assert await engine.generate(PROMPT, SAMPLING) == CALL

    async def main() -> None:
        await alive.start()
        await dead.start()
        await dead.stop()
        engine = await HttpEngine.connect([dead.url, alive.url], **QUICK)
        assert [server.up for server in engine.servers] == [False, True]
        await body(engine)
        await engine.close()
        await alive.stop()

    asyncio.run(main())


def test_prompts_are_read_on_one_server_and_go_on_on_another() -> None:
    reads, decodes = FakeServer(hands_over=True, plan=failing("", "reset")), FakeServer(plan=failing("", "", "500"))

    async def main() -> None:
        await reads.start()
        await decodes.start()
        engine = await HttpEngine.connect([decodes.url], prefill_servers=[reads.url], **QUICK)
        sampling = SamplingParams(max_tokens=16, stop_token_ids=(7,))
        for _ in range(3):
            assert await engine.generate(PROMPT, sampling, session="a") == CALL
        assert [(server.url, server.sessions) for server in engine.servers] == [(decodes.url, 1), (reads.url, 1)]
        engine.release("a")
        assert [server.sessions for server in engine.servers] == [0, 0]
        await engine.close()
        await reads.stop()
        await decodes.stop()

    asyncio.run(main())
    read, decoded = (json.loads(server.requests[-1]) for server in (reads, decodes))
    assert (read["max_tokens"], read["ignore_eos"], read["stop_token_ids"]) == (1, True, [])
    assert read["kv_transfer_params"]["do_remote_decode"] is True
    assert (decoded["max_tokens"], decoded["stop_token_ids"]) == (16, [7])
    assert decoded["kv_transfer_params"] == {"remote_engine_id": "here"}
    names = [head.split(b"X-Request-Id: ")[1][:32] for head in (reads.heads[-1], decodes.heads[-1])]
    assert names[0] == names[1]
    assert (reads.asked, decodes.asked) == (1 + 3 + 2, 1 + 3 + 1)  # checks, calls, and what had to be done again


def test_a_prefill_server_that_hands_nothing_over_is_refused() -> None:
    reads, decodes = FakeServer(), FakeServer()

    async def main() -> None:
        await reads.start()
        await decodes.start()
        engine = await HttpEngine.connect([decodes.url], prefill_servers=[reads.url], **QUICK)
        with pytest.raises(ServerUnsuitableError, match="--kv-transfer-config"):
            await engine.generate(PROMPT, SAMPLING)
        await engine.close()
        await reads.stop()
        await decodes.stop()

    asyncio.run(main())
