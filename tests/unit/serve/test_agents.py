"""`/agent/invoke`: agents run, and what happens is told as it happens."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import agent_instances
from agent_instances import ANSWER, CALL, agent_instance, model_server, tokenizer_folder
from agentic_rl.config.diagnostics import ConfigError
from agentic_rl.serve.agents.executor import ThreadExecutor
from agentic_rl.serve.settings import AgentInstance
from serve_doubles import Parts, Service, events_of, service

ASKED = {"agent_name": "helper", "problem": "How much is 12*7?", "ground_truth": 84, "sample_id": 5, "iteration": 2}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    return tokenizer_folder(tmp_path_factory.mktemp("model"))


def with_agent(folder: Path, agent: str, tokenizer: str, body: Any, server: Any = None, **settings: Any) -> Any:
    async def main() -> Any:
        async with server or model_server() as up:
            instance = agent_instance(f"agent_instances:{agent}", up, tokenizer, **settings)
            async with service(Parts(folder, agents=[instance])) as running:
                return await body(running)

    return asyncio.run(main())


async def post(running: Service, body: dict[str, Any]) -> httpx.Response:
    """Send a body, half of a surrogate pair in it or not."""
    headers = {"Content-Type": "application/json"}
    return await running.client.post("/agent/invoke", content=json.dumps(body), headers=headers)


async def told(running: Service, **asked: Any) -> list[tuple[str, dict[str, Any]]]:
    answer = await post(running, {**ASKED, **asked})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    return events_of(answer.text)


def test_the_events_of_a_run_tell_its_turns_and_tools(tmp_path: Path, tokenizer: str) -> None:
    events = with_agent(tmp_path, "Calculating", tokenizer, told)
    items = [(data["name"], data["item"]) for name, data in events if name == "run_item_stream_event"]
    assert [name for name, _ in items] == [*["tool_called", "tool_output"] * 2, "message_output_created"]
    called, output, *_, message = (item["raw_item"] for _, item in items)
    assert (called["name"], json.loads(called["arguments"])) == ("calculator", {"expression": "12*7"})
    assert (output["call_id"], output["output"]) == (called["call_id"], "84")
    assert message["content"][0]["text"] == ANSWER
    assert events[-1][1] == {
        "type": "run_result",
        "sample_id": 5,
        "iteration": 2,
        "reward": 1.0,
        "finish_reason": "done",
        "error": None,
        "metrics": {"turns": 3, "tool_calls": 2, "malformed_tool_calls": 0},
    }


def test_raw_events_hold_the_text_of_every_turn_token_by_token(tmp_path: Path, tokenizer: str) -> None:
    events = with_agent(tmp_path, "Calculating", tokenizer, told)
    raw = [data["data"] for name, data in events if name == "raw_response_event"]
    texts = dict.fromkeys(("msg_0", "msg_1", "msg_2"), "")
    for one in raw:
        if one["type"] == "response.output_text.delta":
            texts[one["item_id"]] += one["delta"]
    assert texts == {"msg_0": CALL, "msg_1": CALL, "msg_2": ANSWER}
    deltas = [one for one in raw if one["type"] == "response.output_text.delta"]
    assert len(deltas) > 10  # not a whole turn in one
    usage = [one["response"]["usage"] for one in raw if one["type"] == "response.completed"]
    encode = agent_instances.make_tokenizer().encode
    assert [one["output_tokens"] for one in usage] == [len(encode(text)) + 1 for text in texts.values()]


def test_a_run_that_fails_says_why_with_the_line_of_the_agent(tmp_path: Path, tokenizer: str) -> None:
    async def body(running: Service) -> Any:
        return await told(running, extra_args={"what": "luck"})

    (result,) = [data for name, data in with_agent(tmp_path, "Failing", tokenizer, body) if name == "run_result"]
    assert (result["reward"], result["finish_reason"]) == (None, "error")
    assert "no luck" in result["error"]
    assert "agent_instances.py" in result["error"]


def test_a_wrapper_tells_what_it_writes_at_once_and_its_messages_at_the_end(tmp_path: Path, tokenizer: str) -> None:
    events = with_agent(tmp_path, "Wrapping", tokenizer, told)
    assert [data["name"] for name, data in events if name == "run_item_stream_event"] == ["message_output_created"]
    deltas = [data["data"].get("delta", "") for name, data in events if name == "raw_response_event"]
    assert "".join(deltas) == CALL
    assert events[-1][1]["reward"] == 0.25


def test_a_wrapper_that_can_not_be_made_says_why(tmp_path: Path, tokenizer: str) -> None:
    async def body(running: Service) -> httpx.Response:
        return await post(running, ASKED)

    answer = with_agent(tmp_path, "Broken", tokenizer, body)
    assert answer.status_code == 500
    assert "no licence" in answer.json()["error"]["message"]


def test_an_agent_that_blocks_its_loop_delays_nobody_else(tmp_path: Path, tokenizer: str) -> None:
    async def body(running: Service) -> float:
        slow = asyncio.ensure_future(told(running))
        await asyncio.sleep(0.3)
        began = time.monotonic()
        assert (await running.client.get("/health")).status_code == 200
        took = time.monotonic() - began
        assert not slow.done()
        await slow
        return took

    assert with_agent(tmp_path, "Blocking", tokenizer, body) < 0.4


def test_when_the_client_goes_the_run_ends(tmp_path: Path, tokenizer: str) -> None:
    agent_instances.Endless.cancelled = 0

    async def body(running: Service) -> None:
        async with running.client.stream("POST", "/agent/invoke", json=ASKED) as answer:
            async for part in answer.aiter_raw():
                if b"message_output_created" in part or b"tool_called" in part:
                    break
        for _ in range(100):
            await asyncio.sleep(0.02)
            if b'rollouts_in_flight{instance="helper"} 0.0' in running.metrics.text():
                break
        assert b'rollouts_total{instance="helper",outcome="broken_off"} 1.0' in running.metrics.text()
        assert agent_instances.Endless.cancelled == 1

    with_agent(tmp_path, "Endless", tokenizer, body)


def test_more_runs_than_n_parallel_agents_are_refused(tmp_path: Path, tokenizer: str) -> None:
    async def body(running: Service) -> int:
        async with running.client.stream("POST", "/agent/invoke", json=ASKED):
            refused = await running.client.post("/agent/invoke", json=ASKED)
            assert refused.headers["retry-after"] == "1"
            return refused.status_code

    assert with_agent(tmp_path, "Endless", tokenizer, body, n_parallel_agents=1) == 429


def test_without_a_model_server_a_run_is_refused(tmp_path: Path, tokenizer: str) -> None:
    async def main() -> None:
        server = model_server(port=1)
        parts = Parts(tmp_path, agents=[agent_instance("agent_instances:Calculating", server, tokenizer)])
        async with service(parts) as running:
            answer = await running.client.post("/agent/invoke", json=ASKED)
            assert answer.status_code == 503
            assert "the servers of 'big' can't be used" in answer.json()["error"]["message"]

    asyncio.run(main())


def test_every_run_is_kept_as_a_line(tmp_path: Path, tokenizer: str) -> None:
    kept = tmp_path / "kept" / "runs.jsonl"

    async def body(running: Service) -> None:
        await told(running)
        await told(running, sample_id="b", problem=[{"role": "user", "content": "\ud800?"}])

    with_agent(tmp_path, "Calculating", tokenizer, body, trajectories=str(kept))
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [(one["sample_id"], one["step"], one["reward"]) for one in lines] == [(5, 2, 1.0), ("b", 2, 1.0)]
    roles = [message["role"] for message in lines[0]["messages"]]
    assert roles == ["system", "user", *["assistant", "tool"] * 2, "assistant"]
    assert kept.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("asked", "status", "param"),
    [
        ({"agent_name": "nobody"}, 404, "agent_name"),
        ({"agent_name": "\ud800"}, 404, "agent_name"),
        ({"problem": 3}, 422, None),
        ({"problem": []}, 422, None),
        ({"iteration": "1"}, 422, "iteration"),
        ({"extra": 1}, 422, "extra"),
        ({"extra_args": []}, 422, "extra_args"),
    ],
)
def test_wrong_requests(tmp_path: Path, tokenizer: str, asked: Any, status: int, param: str | None) -> None:
    async def body(running: Service) -> None:
        answer = await post(running, {**ASKED, **asked})
        assert answer.status_code == status
        error = answer.json()["error"]
        assert error["message"]
        assert param in (None, error["param"])

    with_agent(tmp_path, "Calculating", tokenizer, body)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"agent": "nobody"}, "agent_name"),
        ({"agent": "agent_instances:Missing"}, "agent_name"),
        ({"agent": "agent_instances:ANSWER"}, "agent_name"),
        ({"tokenizer": "/nowhere"}, "tokenizer"),
        ({"trajectories": "/proc/nowhere/runs"}, "trajectory_save_dir"),
    ],
)
def test_an_instance_that_can_not_be_used_is_found_at_the_start(tokenizer: str, change: Any, key: str) -> None:
    instance = agent_instance("agent_instances:Calculating", model_server(), tokenizer)
    with pytest.raises(ConfigError) as caught:
        ThreadExecutor(AgentInstance(**{**vars(instance), **change}))
    (finding,) = caught.value.report
    assert finding.code == "ARL705"
    assert finding.key.startswith("agent_instances[0].executor_kwargs.")
    assert finding.key.endswith(key)
