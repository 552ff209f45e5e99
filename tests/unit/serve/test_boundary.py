"""Limits of requests, what is measured of them, and the shape of errors."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentic_rl.serve.boundary import Limits
from agentic_rl.serve.settings import Infer
from fake_streams import StreamServer
from serve_doubles import Parts, Service, service, serving


async def raw(running: Service, data: bytes) -> bytes:
    """Send bytes as they are; all that comes back."""
    host, port = running.url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(data)
    answer = await reader.read(1 << 16)
    writer.close()
    return answer


HEAD = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n"


def test_a_body_that_is_too_large_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async def body(running: Service) -> None:
        answer = await raw(running, HEAD + b"Content-Length: 101\r\n\r\n")
        assert b" 413 " in answer.split(b"\r\n")[0]
        answer = await raw(running, HEAD + b"Transfer-Encoding: chunked\r\n\r\n65\r\n" + b"x" * 101 + b"\r\n")
        assert b" 413 " in answer.split(b"\r\n")[0]
        assert b"larger than 100 bytes" in answer

    serving(Parts(tmp_path, limits=Limits(body_bytes=100)), body)


def test_a_body_that_does_not_come_is_waited_for_so_long_only(tmp_path: Path) -> None:
    async def body(running: Service) -> bytes:
        return await raw(running, HEAD + b"Content-Length: 10\r\n\r\n{")

    answer = serving(Parts(tmp_path, limits=Limits(body_seconds=0.1)), body)
    assert b" 408 " in answer.split(b"\r\n")[0]


def test_more_requests_than_the_limit_are_put_off_but_for_health(tmp_path: Path) -> None:
    async def main() -> None:
        async with StreamServer(interval=5) as server:
            parts = Parts(tmp_path, infers=[Infer("big", "policy", (server.url,))], limits=Limits(requests=2))
            async with service(parts) as running:
                asked = {"model": "big", "stream": True}
                both = [asyncio.ensure_future(running.client.post("/v1/completions", json=asked)) for _ in range(2)]
                while server.open < 2:
                    await asyncio.sleep(0.01)
                refused = await running.client.get("/v1/models")
                assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
                assert (await running.client.get("/health")).status_code == 200
                for one in both:
                    one.cancel()
                while server.open:
                    await asyncio.sleep(0.01)
                assert (await running.client.get("/v1/models")).status_code == 200

    asyncio.run(main())


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/nowhere", 404, "/nowhere is not served"),
        ("GET", "/v1/completions", 405, "Method Not Allowed"),
        ("POST", "/jobs", 422, "body"),
        ("GET", "/jobs/x/logs?offset=-1", 422, "offset"),
        ("GET", "/jobs/x", 404, "no job 'x'"),
    ],
)
def test_errors_have_the_form_of_openai(tmp_path: Path, method: str, path: str, status: int, words: str) -> None:
    async def body(running: Service) -> None:
        answer = await running.client.request(method, path)
        assert answer.status_code == status
        error = answer.json()["error"]
        assert words in error["message"]
        assert error.keys() == {"message", "type", "param", "code"}

    serving(Parts(tmp_path), body)


def test_a_broken_content_length_is_refused(tmp_path: Path) -> None:
    async def body(running: Service) -> bytes:
        return await raw(running, HEAD + b"Content-Length: ten\r\n\r\n")

    assert b" 400 " in serving(Parts(tmp_path), body).split(b"\r\n")[0]


def test_requests_are_counted_by_route_and_never_by_what_a_client_makes_up(tmp_path: Path) -> None:
    async def body(running: Service) -> str:
        for path in ("/jobs/a", "/jobs/b", "/made/up", "/v1/models"):
            await running.client.get(path)
        return (await running.client.get("/metrics")).text

    text = serving(Parts(tmp_path), body)
    assert 'agentic_rl_requests_total{route="/jobs/{job_id}",status="404"} 2.0' in text
    assert 'agentic_rl_requests_total{route="other",status="404"} 1.0' in text
    assert 'agentic_rl_request_seconds_count{route="/v1/models"} 1.0' in text
    assert "made" not in text


def test_a_failure_of_the_service_is_an_answer_and_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def body(running: Service) -> int:
        running.jobs.all = lambda: 1 / 0  # type: ignore[method-assign,return-value,assignment]
        answer = await running.client.get("/jobs")
        assert answer.json()["error"]["code"] == "internal"
        return answer.status_code

    assert serving(Parts(tmp_path), body) == 500
    assert "ZeroDivisionError" in caplog.text


def test_the_page_of_the_service_loads_nothing(tmp_path: Path) -> None:
    async def body(running: Service) -> str:
        answer = await running.client.get("/docs")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        return answer.text

    page = serving(Parts(tmp_path), body)
    assert "/v1/chat/completions" in page
    assert "/agent/invoke" in page
    for outside in ("http://", "https://", "<script", "src=", "@import", "url("):
        assert outside not in page
