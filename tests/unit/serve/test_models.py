"""`/v1`: what inference instances answer, through the service."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.serve.settings import Infer
from fake_streams import StreamServer
from serve_doubles import Parts, Service, service, serving

CHAT = {"model": "big", "messages": [{"role": "user", "content": "Hello"}]}
PATHS = ("/v1/chat/completions", "/v1/completions")


def infer(*servers: StreamServer, name: str = "big") -> Infer:
    return Infer(name, "policy", tuple(server.url for server in servers))


def with_models(folder: Path, body: Any, *servers: StreamServer) -> Any:
    async def main() -> Any:
        for server in servers:
            await server.__aenter__()
        try:
            async with service(Parts(folder, infers=[infer(*servers)])) as running:
                return await body(running)
        finally:
            for server in servers:
                await server.__aexit__()

    return asyncio.run(main())


@pytest.mark.parametrize("path", PATHS)
def test_a_request_goes_to_the_server_with_the_name_that_it_knows(tmp_path: Path, path: str) -> None:
    server = StreamServer()

    async def body(running: Service) -> None:
        answer = await running.client.post(path, json={**CHAT, "top_k": 7}, headers={"Authorization": "Bearer mine"})
        assert (answer.status_code, answer.json()["model"]) == (200, "policy")

    with_models(tmp_path, body, server)
    assert server.bodies == [{**CHAT, "model": "policy", "top_k": 7}]
    assert server.heads[0].startswith(f"POST {path} ")
    assert "mine" not in server.heads[0]  # the service's token is nobody else's business


@pytest.mark.parametrize("path", PATHS)
def test_a_stream_is_handed_on_byte_for_byte_and_as_it_comes(tmp_path: Path, path: str) -> None:
    async def body(running: Service) -> list[tuple[float, bytes]]:
        async with running.client.stream("POST", path, json={**CHAT, "stream": True}) as answer:
            assert answer.headers["content-type"] == "text/event-stream"
            return [(time.monotonic(), part) async for part in answer.aiter_raw()]

    came = with_models(tmp_path, body, StreamServer(interval=0.1, tokens=4))
    *events, last = b"".join(part for _, part in came).split(b"\n\n")[:-1]
    assert [json.loads(event.removeprefix(b"data: "))["n"] for event in events] == [0, 1, 2, 3]
    assert last == b"data: [DONE]"
    assert came[-1][0] - came[0][0] > 0.25  # not all at the end


def test_a_broken_stream_ends_with_an_error_among_the_events(tmp_path: Path) -> None:
    async def body(running: Service) -> str:
        answer = await running.client.post(PATHS[0], json={**CHAT, "stream": True, "fault": "break"})
        return answer.text

    text = with_models(tmp_path, body, StreamServer())
    assert json.loads(text.strip().split("\n\n")[-1].removeprefix("data: "))["error"]["code"] == "server_failed"


@pytest.mark.parametrize("status", [400, 422, 500])
def test_what_the_server_refuses_is_handed_on(tmp_path: Path, status: int) -> None:
    async def body(running: Service) -> tuple[int, Any]:
        answer = await running.client.post(PATHS[0], json={**CHAT, "fault": status})
        return answer.status_code, answer.json()

    assert with_models(tmp_path, body, StreamServer()) == (status, {"error": {"message": "injected"}})


def test_a_server_that_is_down_is_passed_over(tmp_path: Path) -> None:
    well, gone = StreamServer(), StreamServer(port=1)

    async def main() -> list[int]:
        async with well:
            parts = Parts(tmp_path, infers=[infer(gone, well)])
            async with service(parts) as running:
                return [(await running.client.post(PATHS[0], json=CHAT)).status_code for _ in range(3)]

    assert asyncio.run(main()) == [200] * 3


def test_without_any_server_the_answer_says_so(tmp_path: Path) -> None:
    async def body(running: Service) -> None:
        answer = await running.client.post(PATHS[0], json=CHAT)
        assert answer.status_code == 502
        assert "no server of 'big' answers" in answer.json()["error"]["message"]
        assert b'server_faults_total{instance="big"} 1.0' in running.metrics.text()

    serving(Parts(tmp_path, infers=[infer(StreamServer(port=1))]), body)


def test_when_the_client_goes_the_request_to_the_server_ends(tmp_path: Path) -> None:
    server = StreamServer(interval=0.05, tokens=10_000)

    async def body(running: Service) -> None:
        for extra in ({"stream": True}, {"fault": "hang"}):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(running.client.post(PATHS[0], json={**CHAT, **extra}), 0.3)
        for _ in range(100):
            await asyncio.sleep(0.02)
            if server.open == 0:
                return
        raise AssertionError(f"{server.open} requests go on")

    with_models(tmp_path, body, server)


@pytest.mark.parametrize(
    ("content", "status", "words"),
    [
        (b"{", 400, "no JSON"),
        (b"[]", 400, "must be an object"),
        (b"[" * 100_000, 400, "no JSON"),
        (b'{"model": "small"}', 404, "'small'; known: big, other"),
        (b'{"model": 3}', 404, "no model 3"),
        (b'{"model": "\\ud800"}', 404, "known: big, other"),
        (b"{}", 400, "name one of: big, other"),
    ],
)
def test_bodies_that_name_no_model(tmp_path: Path, content: bytes, status: int, words: str) -> None:
    async def body(running: Service) -> None:
        answer = await running.client.post(PATHS[0], content=content)
        assert answer.status_code == status
        assert words in answer.json()["error"]["message"]

    serving(Parts(tmp_path, infers=[Infer("big", "policy", ("http://a",)), Infer("other", "b", ("http://b",))]), body)


def test_the_only_model_need_not_be_named_and_models_are_listed(tmp_path: Path) -> None:
    async def body(running: Service) -> None:
        answer = await running.client.post(PATHS[0], json={"messages": []})
        assert answer.status_code == 200
        listed = (await running.client.get("/v1/models")).json()
        assert [(one["id"], one["root"]) for one in listed["data"]] == [("big", "policy")]
        assert (await running.client.get("/status")).json()["infer_instances"] == {"big": {running_url(server): True}}

    def running_url(one: StreamServer) -> str:
        return one.url

    server = StreamServer()
    with_models(tmp_path, body, server)
