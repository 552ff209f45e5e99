"""What was taken for requests is given back: memory, tasks, sockets."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import httpx
import pytest

from agent_instances import agent_instance, model_server, tokenizer_folder
from agentic_rl.serve.settings import Infer
from fake_streams import StreamServer
from serve_doubles import Parts, Service, service

pytestmark = pytest.mark.integration
MEGABYTE = 1 << 20
CHAT = {"model": "big", "messages": []}
ASKED = {"agent_name": "helper", "problem": "How much is 12*7?", "ground_truth": 84}


def resident() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def sockets() -> int:
    return sum(1 for entry in Path("/proc/self/fd").iterdir() if "socket" in _target(entry))


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:  # the descriptor that lists the folder
        return ""


async def load(running: Service, rounds: int) -> None:
    """Answers, streams to the end, streams that are left in their middle, refusals, runs of an agent."""
    for _ in range(rounds):
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(base_url=running.url, timeout=60, trust_env=False, limits=limits) as client:
            works = [client.post("/v1/chat/completions", json=CHAT) for _ in range(20)]
            works += [client.post("/v1/chat/completions", json={**CHAT, "stream": True}) for _ in range(20)]
            works += [client.post("/v1/completions", json={"model": "none"}) for _ in range(20)]
            works += [client.post("/agent/invoke", json=ASKED) for _ in range(10)]
            await asyncio.gather(*works, *(_left(client) for _ in range(20)))


async def _left(client: httpx.AsyncClient) -> None:
    async with client.stream("POST", "/v1/chat/completions", json={**CHAT, "stream": True}) as answer:
        await anext(answer.aiter_raw())


async def settled(tasks: int, descriptors: int) -> tuple[int, int]:
    """Tasks and sockets, once they are no more than these, or after a while."""
    for _ in range(100):
        now = len(asyncio.all_tasks()), sockets()
        if now[0] <= tasks and now[1] <= descriptors:
            break
        await asyncio.sleep(0.1)
    return now


def test_many_requests_leave_nothing_behind(tmp_path: Path) -> None:
    async def main() -> None:
        async with StreamServer(interval=0.005, tokens=10) as stream, model_server() as model:
            instance = agent_instance("agent_instances:Calculating", model, tokenizer_folder(tmp_path))
            parts = Parts(tmp_path, infers=[Infer("big", "policy", (stream.url,))], agents=[instance])
            async with service(parts) as running:
                await load(running, rounds=3)
                await asyncio.sleep(6)  # idle connections to model servers are closed after 4 s
                tasks, descriptors, memory = len(asyncio.all_tasks()), sockets(), resident()
                await load(running, rounds=9)
                now = await settled(tasks, descriptors)
                assert now[0] <= tasks
                assert now[1] <= descriptors
                assert resident() - memory < 8 * MEGABYTE
                assert stream.open == 0

    asyncio.run(main())
