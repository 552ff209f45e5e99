"""What tests of the engine over HTTP share: fake servers that run as long as a test's body."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agentic_rl.rollout.engines.base import Completion, SamplingParams
from agentic_rl.rollout.engines.http_engine import HttpEngine
from agentic_rl.rollout.engines.http_faults import Backoff
from fake_vllm import FakeServer

PROMPT = [1, 2, 3]
CALL = Completion([5, 6, 7], [-0.5, -0.625, -0.75], "stop")
SAMPLING = SamplingParams(max_tokens=16)
QUICK: dict[str, Any] = {"backoff": Backoff(0.001, 0.05), "try_timeout": 0.2, "check_every": 0.01, "patience": 0.3}


def with_servers(*servers: FakeServer, **settings: Any) -> Callable[..., Any]:
    """Run a test's body with an engine on running servers."""

    def run(body: Callable[[HttpEngine], Awaitable[Any]]) -> Any:
        async def main() -> Any:
            for server in servers:
                await server.start()
            engine = await HttpEngine.connect([server.url for server in servers], **{**QUICK, **settings})
            try:
                return await body(engine)
            finally:
                await engine.close()
                for server in servers:
                    await server.stop()

        return asyncio.run(main())

    return run


def failing(*faults: str) -> Callable[[int, bytes], str]:
    """The check at the start works; then each request meets the next fault, and later ones none."""
    return lambda number, body: faults[number - 1] if 0 < number <= len(faults) else ""
