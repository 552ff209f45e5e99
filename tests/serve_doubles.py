"""What tests of serve mode share: a service on a free port, with model servers that are doubles."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from agentic_rl.serve.access import Access
from agentic_rl.serve.agents.executor import Executor, ThreadExecutor
from agentic_rl.serve.agents.pool import AgentPool
from agentic_rl.serve.app import application
from agentic_rl.serve.boundary import Boundary, Limits
from agentic_rl.serve.jobs import Command, Jobs
from agentic_rl.serve.listening import listening
from agentic_rl.serve.metrics import Metrics
from agentic_rl.serve.service import uvicorn_settings
from agentic_rl.serve.settings import AgentInstance, Infer, Settings, Train
from agentic_rl.serve.upstreams import Upstream, new_session

NOTHING = "pass"


@dataclass
class Service:
    """A running service."""

    client: httpx.AsyncClient
    url: str
    app: Boundary
    jobs: Jobs
    metrics: Metrics
    server: uvicorn.Server


def script(text: str = NOTHING) -> Command:
    """What runs Python code in the place of a training job."""

    def command(train: Train, overrides: Sequence[str]) -> list[str]:
        return [sys.executable, "-c", text, train.name, *overrides]

    return command


@dataclass
class Parts:
    """What a service is made of."""

    log_dir: Path
    infers: Sequence[Infer] = ()
    agents: Sequence[AgentInstance] = ()
    trains: Sequence[Train] = ()
    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)
    command: Command = field(default_factory=script)
    place: Callable[[Train], None] = lambda train: None
    executors: Callable[[AgentInstance], Executor] = ThreadExecutor


@asynccontextmanager
async def service(parts: Parts) -> AsyncIterator[Service]:
    """Run a service on a free port of the loopback interface."""
    settings = Settings("config.yaml", (), "127.0.0.1", 0, str(parts.log_dir), trains=tuple(parts.trains))
    metrics = Metrics()
    async with new_session() as session:
        executors = {one.name: parts.executors(one) for one in parts.agents}
        pools = {one.name: AgentPool(one, [executors[one.name]], metrics) for one in parts.agents}
        jobs = Jobs(settings, metrics, parts.command, parts.place)
        app = application(
            upstreams={one.name: Upstream(one, session, metrics) for one in parts.infers},
            pools=pools,
            jobs=jobs,
            metrics=metrics,
            access=parts.access,
            limits=parts.limits,
        )
        with listening("127.0.0.1", 0) as bound:
            server = uvicorn.Server(uvicorn_settings(app, "WARNING"))
            running = asyncio.ensure_future(server.serve(sockets=[bound]))
            url = f"http://127.0.0.1:{bound.getsockname()[1]}"
            try:
                async with httpx.AsyncClient(base_url=url, timeout=30, trust_env=False) as client:
                    yield Service(client, url, app, jobs, metrics, server)
            finally:
                server.should_exit = True
                await running
                await jobs.close()
                for one in executors.values():
                    await one.close()


def serving(parts: Parts, body: Callable[[Service], Any]) -> Any:
    """Run a test's body with a service."""

    async def main() -> Any:
        async with service(parts) as running:
            return await body(running)

    return asyncio.run(main())


def events_of(text: str) -> list[tuple[str, dict[str, Any]]]:
    """Server-sent events, read: names and data."""
    found = []
    for block in text.strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
        if lines:
            found.append((lines.get("event", ""), json.loads(lines["data"])))
    return found
