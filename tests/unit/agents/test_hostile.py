"""Agents, tools and environments that misbehave: bounded, recorded, and the other rollouts go on."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.agents import (
    Agent,
    BaseEngineWrapper,
    Environment,
    EnvironmentAgent,
    Message,
    Observation,
    Task,
    ToolAgent,
    Trajectory,
    tool,
)
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import ScriptedEngine, make_task, make_tokenizer, spelled

TOKENIZER = make_tokenizer()
CALL = '<tool_call>\n{"name": "odd", "arguments": {}}\n</tool_call>'


def rolled(agent: Agent, **limits: Any) -> Trajectory:
    """The trajectory of one rollout, which must end soon whatever the agent does."""
    engine = ScriptedEngine([spelled(TOKENIZER, CALL), spelled(TOKENIZER, "84")], max_model_len=200_000)
    settings = {
        "max_prompt_length": 2048,
        "max_response_length": 150_000,
        "max_tokens": 256,
        "max_steps": 4,
        "turn_timeout": 0.5,
        "trajectory_timeout": 5.0,
        **limits,
    }
    start = time.monotonic()
    (trajectory,) = asyncio.run(Driver(engine, ChatFormat(TOKENIZER), **settings).run(agent, [make_task()]))
    assert time.monotonic() - start < 20
    return trajectory


def answered(function: Callable[..., Any]) -> tuple[str, Trajectory]:
    """What the policy reads of a tool, in a rollout that goes on to its end."""
    function.__name__ = "odd"
    trajectory = rolled(ToolAgent(tools=[tool(function)], reward=lambda task, messages: 1.0))
    assert (trajectory.error, trajectory.trajectory_reward) == ("", 1.0)
    (result,) = [one["content"] for one in trajectory.chat_completions if one["role"] == "tool"]
    return str(result), trajectory


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def recurses() -> str:
    return recurses()


def exits() -> str:
    sys.exit(3)


def interrupts() -> str:
    raise KeyboardInterrupt


def blocks() -> str:
    time.sleep(2)
    return "late"


async def swallows() -> str:
    until = time.monotonic() + 1.0
    while time.monotonic() < until:
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0.2)
    return "at last"


async def exits_soon() -> str:
    await asyncio.sleep(0)
    raise SystemExit(4)


def speechless() -> str:
    raise UnspeakableError


def cyclic() -> list[Any]:
    one: list[Any] = []
    one.append(one)
    return one


def long_error() -> str:
    raise ValueError("x" * 1_000_000)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (recurses, "Error: RecursionError"),
        (exits, "Error: SystemExit: 3"),
        (exits_soon, "Error: SystemExit: 4"),
        (interrupts, "Error: KeyboardInterrupt"),
        (blocks, "Error: odd took longer than 0.5 s"),
        (swallows, "Error: odd took longer than 0.5 s"),
        (speechless, "Error: UnspeakableError: (no text: RuntimeError)"),
        (cyclic, "Error: ValueError: Circular reference"),
        (long_error, "(1000000 characters)"),
    ],
)
def test_a_tool_that_misbehaves_is_an_error_that_the_policy_reads(function: Callable[..., Any], said: str) -> None:
    text, trajectory = answered(function)
    assert said in text
    assert len(text) < 40_000
    assert trajectory.metrics["tool_errors"] == 1


def test_a_result_of_a_megabyte_is_shortened_and_tokens_stay_exact() -> None:
    text, trajectory = answered(lambda: "ab" * 500_000)
    assert len(text) < 33_000
    assert "characters left out]" in text
    own = [token for token, mask in zip(trajectory.response_tokens, trajectory.response_masks, strict=True) if mask]
    assert own == [*spelled(TOKENIZER, CALL), *spelled(TOKENIZER, "84")]


def test_half_a_surrogate_pair_reaches_the_policy_as_a_mark() -> None:
    text, trajectory = answered(lambda: "a\ud800b")
    assert text.encode("utf-8", "replace") == b"a?b"
    assert "a?b" in TOKENIZER.decode(list(trajectory.response_tokens))


def test_a_tool_that_prints_much_and_clears_the_import_path_changes_no_result(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])

    def noisy() -> str:
        print("x" * 3_000_000)
        sys.path.clear()
        return "done"

    assert answered(noisy)[0] == "done"
    assert len(capsys.readouterr().out) == 3_000_001


def test_a_reward_that_recurses_or_is_no_number_fails_its_rollout() -> None:
    def recursing(task: Task, messages: Any) -> float:
        return recursing(task, messages)

    assert "RecursionError" in rolled(ToolAgent(reward=recursing)).error
    assert "must be a finite number" in rolled(ToolAgent(reward=lambda task, messages: float("nan"))).error


class Hostile(Environment):
    def __init__(self, step: Callable[[], Any]) -> None:
        self.does = step

    def reset(self, task: Task) -> str:
        return "go"

    def step(self, message: Message) -> Observation:
        return self.does()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (exits, "SystemExit: 3"),
        (recurses, "RecursionError"),
        (blocks, "LateError"),
        (lambda: Observation(reward="much"), "was given the reward 'much'"),
        (lambda: Observation(text=3), "the text of an Observation is a int; write it as text"),  # type: ignore[arg-type]
    ],
)
def test_an_environment_that_misbehaves_fails_its_rollout(step: Callable[[], Any], said: str) -> None:
    assert said in rolled(EnvironmentAgent(lambda: Hostile(step))).error


def test_an_observation_of_a_megabyte_is_shortened() -> None:
    trajectory = rolled(EnvironmentAgent(lambda: Hostile(lambda: Observation("ab" * 500_000)), max_turns=2))
    assert trajectory.error == ""
    assert len(trajectory.chat_completions[2]["content"]) < 33_000


class Plain(Agent):
    """Written without `async`: it runs in a thread."""

    def run(self, task: Task, model: Any) -> float:  # type: ignore[override]
        raise KeyboardInterrupt


class Wrapped(BaseEngineWrapper):
    def generate_agent_trajectories_async(self, tasks: list[dict[str, Any]]) -> list[Trajectory]:
        raise KeyboardInterrupt


@pytest.mark.parametrize("agent", [Plain(), Wrapped])
def test_what_runs_in_a_thread_can_not_interrupt_the_run(agent: Any) -> None:
    assert rolled(agent).error.startswith("EscapedError: KeyboardInterrupt")


class Blocks(Agent):
    """Blocks in one rollout of two, in whatever way."""

    def __init__(self, block: Callable[[], object]) -> None:
        self._block = block

    async def run(self, task: Task, model: Any) -> float:
        if task.idx:
            self._block()
        else:
            await asyncio.sleep(0.1)
        return 1.0


def spin() -> None:
    while True:
        pass


@pytest.mark.parametrize("block", [lambda: time.sleep(60), spin], ids=["sleep", "spin"])
def test_code_that_blocks_the_event_loop_is_interrupted_and_the_others_go_on(block: Callable[[], object]) -> None:
    driver = Driver(
        ScriptedEngine([[1]]),
        ChatFormat(TOKENIZER),
        max_prompt_length=99,
        max_response_length=99,
        max_tokens=9,
        max_steps=1,
        turn_timeout=0.4,
    )
    start = time.monotonic()
    good, blocked, late = asyncio.run(driver.run(Blocks(block), [make_task(idx=idx) for idx in (0, 1, 0)]))
    assert time.monotonic() - start < 10
    assert (good.error, late.error, good.trajectory_reward) == ("", "", 1.0)
    assert (blocked.finish_reason, "blocking code held up" in blocked.error) == ("timeout", True)
