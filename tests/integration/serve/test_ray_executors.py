"""Executors of agents on a real Ray cluster."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_instances import agent_instance, model_server, tokenizer_folder
from agentic_rl.cluster.placement import Resources
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.serve.agents.call import AgentCall
from agentic_rl.serve.executors import Executors
from serve_doubles import events_of

ray = pytest.importorskip("ray")
pytestmark = [pytest.mark.integration, pytest.mark.verl, pytest.mark.filterwarnings("default")]
TESTS = Path(__file__).parents[2]
CALL = AgentCall("How much is 12*7?", "84")


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    """A cluster of this machine, with devices that are only counted."""
    environment = {"PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    ray.init(
        address="local",
        num_cpus=2,
        resources={"NPU": 2},
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": environment},
    )
    yield
    ray.shutdown()


async def told(executor: Any) -> list[Any]:
    return events_of(b"".join([event async for event in executor.invoke(CALL)]).decode())


def with_executors(folder: Path, resources: Resources, agent: str, body: Any, **settings: Any) -> Any:
    async def main() -> Any:
        async with model_server() as server:
            tokenizer = tokenizer_folder(folder)
            instance = agent_instance(f"agent_instances:{agent}", server, tokenizer, resources=resources)
            executors = Executors(str(folder), **settings)
            try:
                return await body(await executors.agents(instance))
            finally:
                await executors.close()

    return asyncio.run(main())


def free() -> float:
    """The devices that nobody holds; Ray needs a moment to know."""
    for _ in range(50):
        amount = float(ray.available_resources().get("NPU", 0))
        if amount == 2:
            break
        time.sleep(0.1)
    return amount


def test_two_executors_hold_their_devices_and_run_agents_at_the_same_time(tmp_path: Path) -> None:
    async def body(executors: Any) -> list[list[Any]]:
        assert ray.available_resources().get("NPU", 0) == 0
        return list(await asyncio.gather(*(told(one) for one in executors)))

    both = with_executors(tmp_path, Resources(2, {"NPU": 2}), "Calculating", body)
    assert [events[-1][1]["reward"] for events in both] == [1.0, 1.0]
    assert [data["name"] for name, data in both[0] if name == "run_item_stream_event"][-1] == "message_output_created"
    assert free() == 2


def test_a_run_that_is_closed_ends_in_the_actor(tmp_path: Path) -> None:
    async def body(executors: Any) -> None:
        (executor,) = executors
        events = executor.invoke(CALL)
        await anext(events)
        await events.aclose()
        for _ in range(100):
            if await executor.running() == 0:
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the run goes on")

    with_executors(tmp_path, Resources(1, {"NPU": 1}), "Endless", body)


def test_what_the_cluster_lacks_is_a_finding_in_bounded_time(tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(ConfigError) as caught:
        with_executors(tmp_path, Resources(1, {"NPU": 3}), "Calculating", None, place_seconds=2.0)
    assert time.monotonic() - began < 20
    (finding,) = caught.value.report
    assert (finding.code, finding.key) == ("ARL704", "agent_instances[0].resource_info")
    assert "NPU: 2 free of 2" in finding.message
    assert free() == 2


def test_an_agent_that_can_not_be_made_is_the_same_finding_as_without_ray(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        with_executors(tmp_path, Resources(2, {}), "Missing", None)
    (finding,) = caught.value.report
    assert finding.code == "ARL705"
    assert "has no 'Missing'" in finding.message
