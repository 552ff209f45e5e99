"""Groups as they complete, back-pressure, rollouts that begin anew, and agents that can't be stopped."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import pytest

from agentic_rl.agents import Agent, BaseEngineWrapper, ChatModel, Message, Task, ToolAgent, Trajectory, deadline, tool
from agentic_rl.agents.errors import LateError
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from agentic_rl.rollout.engines.base import Completion, EngineFaultError, SamplingParams
from agentic_rl.rollout.retries import Retries
from rollout_doubles import ScriptedEngine, as_sampled, call_text, make_task, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer())
CALL, ANSWER = (spelled(FORMAT.tokenizer, text) for text in (call_text("12*7"), r"\boxed{84}"))


def driver(engine: ScriptedEngine, **settings: Any) -> Driver:
    limits = {"max_prompt_length": 999, "max_response_length": 999, "max_tokens": 200, "max_steps": 5}
    return Driver(engine, FORMAT, **{**limits, **settings})


class Asks(Agent):
    """Asks once; the group with the number `slow` takes longer."""

    slow = 0

    def __init__(self) -> None:
        self.begun = 0

    async def run(self, task: Task, model: ChatModel) -> float:
        self.begun += 1
        await model.chat(task.prompt)
        if task.idx == self.slow:
            await asyncio.sleep(0.05)
        return float(task.idx * 10 + task.sample)


def groups_of(count: int, size: int) -> list[Task]:
    return [make_task(idx=idx, sample=sample) for sample in range(size) for idx in range(count)]


def test_groups_come_when_they_are_whole_each_in_the_order_of_its_samples() -> None:
    async def run() -> list[list[Trajectory]]:
        async with aclosing(driver(ScriptedEngine([ANSWER])).stream(Asks(), groups_of(5, 3))) as groups:
            return [group async for group in groups]

    groups = asyncio.run(run())
    assert [one.trajectory_reward for group in groups for one in group if group[0].idx] == [
        *(10.0, 11.0, 12.0, 20.0, 21.0, 22.0, 30.0, 31.0, 32.0, 40.0, 41.0, 42.0)
    ]
    assert [one.idx for one in groups[-1]] == [0, 0, 0]


def test_a_slow_reader_holds_the_rollouts_back_and_may_leave_early() -> None:
    engine, agent = ScriptedEngine([ANSWER]), Asks()

    async def run() -> None:
        tasks = [make_task(idx=idx + 1) for idx in range(100)]
        async with aclosing(driver(engine, n_parallel_agents=4).stream(agent, tasks)) as groups:
            async for _ in groups:
                await asyncio.sleep(0.05)
                assert agent.begun <= 1 + 2 * 4
                break
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
    assert {session for _, _, session in engine.calls} <= set(engine.released)


def test_a_wrapper_streams_too() -> None:
    class One(BaseEngineWrapper):
        async def generate_trajectory(self, task: Any, stream_queue: Any = None) -> Trajectory:
            return Trajectory([1], [2], [1], trajectory_reward=1.0)

    async def run() -> list[int]:
        return [len(group) async for group in driver(ScriptedEngine([ANSWER])).stream(One, groups_of(3, 2))]

    assert asyncio.run(run()) == [2, 2, 2]


class Faulty(ScriptedEngine):
    """Fails at its first calls."""

    def __init__(self, faults: int) -> None:
        super().__init__([ANSWER])
        self.left = faults

    async def generate(self, prompt: Sequence[int], sampling: SamplingParams, **options: Any) -> Completion:
        completion = await super().generate(prompt, sampling, **options)
        if self.left:
            self.left -= 1
            raise EngineFaultError("the server has gone")
        return completion


@pytest.mark.parametrize(
    ("faults", "retries", "error", "calls"),
    [
        (1, None, "", 2),
        (2, None, "EngineFaultError: the server has gone", 2),
        (2, Retries(most=2), "", 3),
        (1, Retries(most=0), "EngineFaultError: the server has gone", 1),
        (1, Retries(on=(KeyError,)), "EngineFaultError: the server has gone", 1),
    ],
)
def test_a_fault_of_the_engine_begins_the_rollout_anew(
    faults: int, retries: Retries | None, error: str, calls: int
) -> None:
    engine = Faulty(faults)
    (trajectory,) = asyncio.run(driver(engine, retries=retries).run(Asks(), [make_task(idx=1)]))
    assert trajectory.error.partition(" (")[0] == error
    assert trajectory.metrics.get("tries", 1) == len(engine.calls) == calls
    assert len({session for _, _, session in engine.calls}) == calls  # no cache of a failed try is read
    assert trajectory.response_tokens == ([] if error else ANSWER)
    assert {session for _, _, session in engine.calls} == set(engine.released)


def test_an_agents_own_error_is_not_tried_again_unless_that_is_said() -> None:
    class Breaks(Agent):
        runs = 0

        async def run(self, task: Task, model: ChatModel) -> float:
            Breaks.runs += 1
            raise KeyError("lost")

    (trajectory,) = asyncio.run(driver(ScriptedEngine([ANSWER])).run(Breaks(), [make_task()]))
    assert (trajectory.error.partition(" (")[0], Breaks.runs) == ("KeyError: 'lost'", 1)
    (trajectory,) = asyncio.run(
        driver(ScriptedEngine([ANSWER]), retries=Retries(2, (LookupError,))).run(Breaks(), [make_task()])
    )
    assert (trajectory.metrics["tries"], Breaks.runs) == (3, 4)


def test_rollouts_that_swallow_cancellation_are_recorded_and_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "_INSIST_EVERY", 0.002)
    stop = asyncio.Event()

    class Stubborn(Agent):
        async def run(self, task: Task, model: ChatModel) -> float:
            await model.chat(task.prompt)
            while task.idx % 2 and not stop.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await stop.wait()
            return 1.0

    engine = ScriptedEngine([ANSWER])

    async def run() -> list[Trajectory]:
        tasks = [make_task(idx=idx) for idx in range(8)]
        limits = {"n_parallel_agents": 2, "trajectory_timeout": 0.02, "retries": Retries(on=(KeyError, LateError))}
        trajectories = await driver(engine, **limits).run(Stubborn(), tasks)
        assert {session for _, _, session in engine.calls} == set(engine.released)
        stop.set()
        await asyncio.sleep(0.01)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert len(engine.calls) == 8  # what was given up does not begin anew once it ends
        return trajectories

    trajectories = asyncio.run(run())
    assert [one.finish_reason for one in trajectories] == ["done", "timeout"] * 4
    assert trajectories[1].error.startswith("LateError: the rollout took longer than 0.02 s, and swallowed 10")
    assert trajectories[1].response_tokens == ANSWER


def test_errors_of_any_class_and_text_are_recorded() -> None:
    class Odd(BaseException):
        def __str__(self) -> str:
            raise ValueError("no text")

    class Raises(Agent):
        async def run(self, task: Task, model: ChatModel) -> float:
            raise [Odd(), RuntimeError("\ud800 half a pair"), RuntimeError("x" * 10**6)][task.idx]

    trajectories = asyncio.run(driver(ScriptedEngine([ANSWER])).run(Raises(), [make_task(idx=idx) for idx in range(3)]))
    errors = [one.error for one in trajectories]
    assert errors[0].startswith("Odd: (no text: ValueError)")
    assert "\ud800 half a pair" in errors[1]
    assert len(errors[2]) < 10_000


def test_tasks_that_an_agent_leaves_running_are_told(caplog: pytest.LogCaptureFixture) -> None:
    left: list[asyncio.Task[None]] = []

    async def haunts() -> None:
        await asyncio.sleep(60)

    class Leaks(Agent):
        async def run(self, task: Task, model: ChatModel) -> float:
            left.append(asyncio.ensure_future(haunts()))
            return 1.0

    async def run() -> None:
        own = asyncio.ensure_future(haunts())  # there before the rollouts: not theirs
        await driver(ScriptedEngine([ANSWER])).run(Leaks(), [make_task()] * 5)
        for one in [own, *left]:
            one.cancel()

    asyncio.run(run())
    assert "left 5 tasks running after its rollouts (" in caplog.text
    assert "haunts" in caplog.text


def test_tools_may_have_a_time_out_of_their_own() -> None:
    @tool
    async def calculator(expression: str) -> str:
        """Never ends."""
        await asyncio.sleep(600)
        return expression

    def judge(task: Task, messages: Sequence[Message]) -> float:
        return float(messages[2]["content"] == "Error: calculator took longer than 0.02 s")

    engine = ScriptedEngine(lambda prompt, sampling, turn: as_sampled(ANSWER if turn else CALL, sampling))
    agent = ToolAgent(tools=[calculator], reward=judge)
    (trajectory,) = asyncio.run(driver(engine, tool_timeout=0.02).run(agent, [make_task()]))
    assert trajectory.trajectory_reward == 1.0
