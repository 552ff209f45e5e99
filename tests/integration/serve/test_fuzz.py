"""Requests as nobody would write them, made from the service's own description: never a failure of the service."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from agent_instances import agent_instance, model_server, tokenizer_folder
from agentic_rl.serve.access import Access
from agentic_rl.serve.app import new_app
from agentic_rl.serve.settings import Infer, Train
from fake_streams import StreamServer
from serve_doubles import Parts, service

schemathesis = pytest.importorskip("schemathesis")
hypothesis = pytest.importorskip("hypothesis")
pytestmark = [pytest.mark.integration, pytest.mark.filterwarnings("default")]

TOKEN = "a-token-of-enough-length"
SCHEMA = schemathesis.openapi.from_dict(new_app().openapi())


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A whole service in a thread of its own."""
    folder = tmp_path_factory.mktemp("service")
    tokenizer = tokenizer_folder(folder)
    started, stop = threading.Event(), asyncio.Event()
    found: dict[str, object] = {}

    async def main() -> None:
        async with StreamServer() as stream, model_server() as model:
            parts = Parts(
                folder,
                infers=[Infer("big", "policy", (stream.url,))],
                agents=[agent_instance("agent_instances:Calculating", model, tokenizer)],
                trains=[Train("seven", str(folder / "run"))],
                access=Access(TOKEN),
            )
            async with service(parts) as running:
                found.update(url=running.url, loop=asyncio.get_running_loop())
                started.set()
                await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert started.wait(60)
    yield str(found["url"])
    loop = found["loop"]
    assert isinstance(loop, asyncio.AbstractEventLoop)
    loop.call_soon_threadsafe(stop.set)
    thread.join(60)
    assert not thread.is_alive()


@SCHEMA.parametrize()
@hypothesis.settings(max_examples=25, deadline=None, suppress_health_check=list(hypothesis.HealthCheck))
def test_every_route_answers_as_it_says(case: schemathesis.Case, url: str) -> None:
    case.call_and_validate(
        base_url=url,
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=30,
        excluded_checks=[schemathesis.checks.positive_data_acceptance],  # names of instances are not in the description
    )


def test_the_description_has_every_route() -> None:
    assert set(new_app().openapi()["paths"]) == {
        "/health",
        "/status",
        "/metrics",
        "/v1/models",
        "/v1/chat/completions",
        "/v1/completions",
        "/agent/invoke",
        "/jobs",
        "/jobs/{job_id}",
        "/jobs/{job_id}/cancel",
        "/jobs/{job_id}/logs",
    }
