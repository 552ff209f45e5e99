"""Many rollouts at once: order, failures, time-outs, cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agentic_rl.agents import Agent, ChatModel, Message, Task, ToolAgent, Trajectory, find_agent, tool
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from agentic_rl.rollout.engines.base import Completion, SamplingParams
from rollout_doubles import ScriptedEngine, as_sampled, call_text, make_task, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer())
CALL, ANSWER = (spelled(FORMAT.tokenizer, text) for text in (call_text("12*7"), r"\boxed{84}"))


def driver(engine: ScriptedEngine, **settings: Any) -> Driver:
    limits = {"max_prompt_length": 999, "max_response_length": 999, "max_tokens": 200, "max_steps": 5}
    return Driver(engine, FORMAT, **{**limits, **settings})


def roll(engine: ScriptedEngine, agent: Agent, tasks: Sequence[Task], **settings: Any) -> list[Trajectory]:
    """Run the tasks, and prove that neither asyncio tasks nor sessions of the engine are left behind."""

    async def run() -> list[Trajectory]:
        trajectories = await driver(engine, **settings).run(agent, tasks)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return trajectories

    trajectories = asyncio.run(run())
    assert {session for _, _, session in engine.calls} <= set(engine.released)
    return trajectories


class Chats(Agent):
    """Asks once, then does what a test wants."""

    async def run(self, task: Task, model: ChatModel) -> float:
        messages = [*task.prompt, await model.chat(task.prompt)]
        return await self.then(task, model, messages)

    async def then(self, task: Task, model: ChatModel, messages: list[Message]) -> float:
        return 1.0


def test_the_math_agent_from_question_to_reward() -> None:
    tasks = [make_task(f"question {place}", ground_truth="84", idx=place // 4, sample=place % 4) for place in range(16)]
    trajectories = roll(ScriptedEngine([CALL, ANSWER]), find_agent("math"), tasks)
    assert [trajectory.idx for trajectory in trajectories] == [task.idx for task in tasks]
    assert {trajectory.trajectory_reward for trajectory in trajectories} == {1.0}
    assert {trajectory.finish_reason for trajectory in trajectories} == {"done"}
    assert trajectories[5].metrics == {"turns": 2, "tool_calls": 1, "malformed_tool_calls": 0}
    assert [message["role"] for message in trajectories[5].chat_completions] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]
    assert trajectories[5].chat_completions[0]["content"] == "question 5"


def test_results_have_the_order_of_the_tasks_however_long_each_takes() -> None:
    class Sleeps(Chats):
        async def then(self, task: Task, model: ChatModel, messages: list[Message]) -> float:
            await asyncio.sleep(random.Random(task.idx).random() / 50)
            return float(task.idx)

    tasks = [make_task(idx=place) for place in range(40)]
    trajectories = roll(ScriptedEngine([ANSWER]), Sleeps(), tasks, n_parallel_agents=7)
    assert [trajectory.trajectory_reward for trajectory in trajectories] == list(map(float, range(40)))


def test_at_most_n_parallel_agents_are_in_flight() -> None:
    running = most = 0

    class Counts(Agent):
        async def run(self, task: Task, model: ChatModel) -> float:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            return 0.0

    roll(ScriptedEngine([ANSWER]), Counts(), [make_task()] * 20, n_parallel_agents=6)
    assert most == 6


class Failing(Chats):
    """Every third rollout is fine, the others fail in a way of their own."""

    def __init__(self, failure: Any) -> None:
        self.failure = failure

    async def then(self, task: Task, model: ChatModel, messages: list[Message]) -> float:
        if task.idx % 3 == 0:
            return 1.0
        result: float = await self.failure(task, model, messages)
        return result


async def raises(*_: Any) -> float:
    raise KeyError("lost")


async def leaves(*_: Any) -> float:
    raise SystemExit(2)


async def recurses(*_: Any) -> float:
    return await recurses()


async def gives(value: Any) -> Any:
    return value


async def awaits_something_cancelled(*_: Any) -> float:
    future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
    future.cancel()
    return await future


async def edits(task: Task, model: ChatModel, messages: list[Message]) -> float:
    with contextlib.suppress(ValueError):  # an agent that goes on as if nothing had happened
        await model.chat([{"role": "user", "content": "another"}])
    return 1.0


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (raises, "KeyError: 'lost'"),
        (leaves, "SystemExit: 2"),
        (recurses, "RecursionError: "),
        (awaits_something_cancelled, "CancelledError: "),
        (edits, "HistoryEditedError: message 0 (user) was changed"),
        (lambda *_: gives(None), "ValueError: Failing gave the reward None; it must be a finite number"),
        (lambda *_: gives(float("nan")), "ValueError: Failing gave the reward nan"),
        (lambda *_: gives("much"), "ValueError: Failing gave the reward 'much'"),
    ],
)
def test_a_failed_rollout_is_recorded_and_the_others_go_on(failure: Any, error: str) -> None:
    tasks = [make_task(idx=place) for place in range(9)]
    trajectories = roll(ScriptedEngine([ANSWER]), Failing(failure), tasks, n_parallel_agents=2)
    for task, trajectory in zip(tasks, trajectories, strict=True):
        assert trajectory.response_tokens == ANSWER
        if task.idx % 3 == 0:
            assert (trajectory.trajectory_reward, trajectory.error) == (1.0, "")
        else:
            assert (trajectory.trajectory_reward, trajectory.finish_reason) == (0.0, "error")
            assert trajectory.error.startswith(error)


def test_a_failed_rollout_names_the_innermost_line_of_the_users_file() -> None:
    (trajectory,) = roll(ScriptedEngine([ANSWER]), Failing(raises), [make_task(idx=1)])
    line = raises.__code__.co_firstlineno + 1
    assert trajectory.error == f"KeyError: 'lost' ({__file__}:{line})"


def test_a_run_may_be_plain() -> None:
    class Plain(Agent):
        def run(self, task: Task, model: ChatModel) -> float:  # type: ignore[override]
            return 0.5

    (trajectory,) = roll(ScriptedEngine([ANSWER]), Plain(), [make_task()])
    assert (trajectory.trajectory_reward, trajectory.error) == (0.5, "")


def test_a_long_prompt_fails_alone() -> None:
    tasks = [make_task("short"), make_task("long " * 50, idx=1), make_task("short")]
    trajectories = roll(ScriptedEngine([ANSWER]), Chats(), tasks, max_prompt_length=100)
    assert [bool(trajectory.error) for trajectory in trajectories] == [False, True, False]
    assert trajectories[1].error.startswith("PromptTooLongError: prompt 1 ('long long")
    cut = roll(ScriptedEngine([ANSWER]), Chats(), tasks, max_prompt_length=100, truncation="left")
    assert [len(trajectory.prompt_tokens) for trajectory in cut][1] == 100
    assert not cut[1].error


def test_a_rollout_that_never_ends_is_timed_out() -> None:
    class Waits(Chats):
        async def then(self, task: Task, model: ChatModel, messages: list[Message]) -> float:
            if task.idx == 1:
                await asyncio.sleep(600)
            return 1.0

    trajectories = roll(
        ScriptedEngine([ANSWER]), Waits(), [make_task(idx=place) for place in range(3)], trajectory_timeout=0.05
    )
    assert [trajectory.finish_reason for trajectory in trajectories] == ["done", "timeout", "done"]
    assert trajectories[1].error.startswith("LateError: the rollout took longer than 0.05 s")
    assert trajectories[1].response_tokens == ANSWER


class HangingEngine(ScriptedEngine):
    """Never answers its second call."""

    async def generate(self, prompt: Sequence[int], sampling: SamplingParams, **options: Any) -> Completion:
        completion = await super().generate(prompt, sampling, **options)
        if len(self.calls) == 2:
            await asyncio.sleep(600)
        return completion


def test_a_model_call_that_hangs_is_timed_out() -> None:
    trajectories = roll(HangingEngine([ANSWER]), Chats(), [make_task()] * 3, turn_timeout=0.05)
    assert [trajectory.finish_reason for trajectory in trajectories] == ["done", "timeout", "done"]
    assert trajectories[1].error.startswith("LateError: the model call took longer than 0.05 s")
    assert trajectories[1].response_tokens == []


def test_a_tool_call_that_hangs_is_answered_with_an_error() -> None:
    @tool
    async def calculator(expression: str) -> str:
        """Never ends."""
        await asyncio.sleep(600)
        return expression

    agent = ToolAgent(tools=[calculator], reward=lambda task, messages: 1.0)
    (trajectory,) = roll(ScriptedEngine([CALL, ANSWER]), agent, [make_task()], turn_timeout=0.05)
    assert trajectory.chat_completions[2]["content"] == "Error: calculator took longer than 0.05 s"
    assert (trajectory.trajectory_reward, trajectory.metrics["tool_errors"]) == (1.0, 1)


def test_an_engine_that_breaks_fails_the_rollouts_it_had() -> None:
    def script(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
        raise ConnectionResetError("gone")

    trajectories = roll(ScriptedEngine(script), Chats(), [make_task()] * 3)
    assert all(trajectory.error.startswith("ConnectionResetError: gone") for trajectory in trajectories)


def test_cancellation_frees_the_engines_sessions_and_leaves_no_task() -> None:
    engine = HangingEngine([ANSWER])

    class Waits(Chats):
        async def then(self, task: Task, model: ChatModel, messages: list[Message]) -> float:
            await asyncio.sleep(600)
            return 1.0

    async def run() -> None:
        whole = asyncio.ensure_future(driver(engine, n_parallel_agents=4).run(Waits(), [make_task()] * 50))
        await asyncio.sleep(0.05)
        whole.cancel()
        with pytest.raises(asyncio.CancelledError):
            await whole
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())
    assert len(engine.calls) == 4
    assert {session for _, _, session in engine.calls} == set(engine.released)


def test_an_agent_that_ignores_budgets_is_judged_by_cut_short() -> None:
    class Endless(Agent):
        async def run(self, task: Task, model: ChatModel) -> float:
            messages = [*task.prompt]
            while True:
                messages += [await model.chat(messages), {"role": "user", "content": "more"}]

        def cut_short(self, task: Task, messages: Sequence[Message]) -> float:
            return len(messages) / 10

    by_turns, by_tokens = (
        roll(ScriptedEngine([ANSWER]), Endless(), [make_task()], **limit)[0]
        for limit in ({"max_steps": 3}, {"max_response_length": len(ANSWER) + 5})
    )
    assert (by_turns.finish_reason, by_turns.trajectory_reward, by_turns.error) == ("max_steps", 0.6, "")
    assert (by_tokens.finish_reason, by_tokens.trajectory_reward, by_tokens.error) == ("length", 0.2, "")


def test_equal_seeds_give_equal_rollouts_in_any_company() -> None:
    def script(prompt: Sequence[int], sampling: SamplingParams, turn: int) -> Completion:
        letters = random.Random(sampling.seed).choices("abc12", k=9)
        return as_sampled(spelled(FORMAT.tokenizer, "".join(letters)), sampling)

    tasks = [make_task(seed=seed) for seed in range(12)]
    together = roll(ScriptedEngine(script), Chats(), tasks)
    alone = [roll(ScriptedEngine(script), Chats(), [task])[0] for task in tasks]
    assert [one.response_tokens for one in together] == [one.response_tokens for one in alone]
    assert len({tuple(one.response_tokens) for one in together}) == 12


def test_a_leaked_task_of_an_agent_can_not_reach_the_model() -> None:
    caught: list[Exception] = []

    async def haunt(task: Task, model: ChatModel) -> None:
        await asyncio.sleep(0.01)
        try:
            await model.chat(task.prompt)
        except RuntimeError as error:
            caught.append(error)

    class Leaks(Chats):
        async def then(self, task: Task, model: ChatModel, messages: list[Message]) -> float:
            self.task = asyncio.ensure_future(haunt(task, model))
            return 1.0

    async def run() -> None:
        agent = Leaks()
        (trajectory,) = await driver(ScriptedEngine([ANSWER])).run(agent, [make_task()])
        await agent.task
        assert trajectory.response_tokens == ANSWER

    asyncio.run(run())
    assert str(caught[0]) == "the rollout has ended"


def seconds(work: Callable[[], object]) -> float:
    """CPU time, of all threads of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def test_two_hundred_rollouts_cost_little_beside_the_engine() -> None:
    tasks = [make_task(f"question {place // 8}", ground_truth="84", idx=place // 8) for place in range(256)]
    engine, agent = ScriptedEngine([CALL, ANSWER]), find_agent("math")
    roll(engine, agent, tasks)
    assert min(seconds(lambda: roll(engine, agent, tasks)) for _ in range(3)) < 0.3  # measured: 0.04
