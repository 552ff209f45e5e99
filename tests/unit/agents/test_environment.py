from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from agentic_rl.agents import Agent, Environment, EnvironmentAgent, Message, Observation, Task, Trajectory
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import ScriptedEngine, make_task, make_tokenizer, spelled

TOKENIZER = make_tokenizer()


def play(agent: Agent, replies: Sequence[str], task: Task | None = None, **limits: Any) -> Trajectory:
    engine = ScriptedEngine([spelled(TOKENIZER, reply) for reply in replies])
    settings = {"max_prompt_length": 512, "max_response_length": 1024, "max_tokens": 64, "max_steps": 9, **limits}
    driver = Driver(engine, ChatFormat(TOKENIZER), **settings)
    (trajectory,) = asyncio.run(driver.run(agent, [task or make_task("Play.")]))
    return trajectory


class Counting(Environment):
    """The policy has to count up to three; each right number earns one."""

    inline = True

    def __init__(self) -> None:
        self.number = 0
        self.closed = 0
        self.thread = threading.current_thread()
        made.append(self)

    def reset(self, task: Task) -> str | list[Message]:
        return "Count."

    def step(self, message: Message) -> Observation:
        assert threading.current_thread() is self.thread
        self.number += 1
        right = message["content"] == str(self.number)
        return Observation(f"{self.number}!", reward=1.0 if right else -0.5, done=self.number == 3)

    def close(self) -> None:
        self.closed += 1


made: list[Counting] = []


@pytest.fixture(autouse=True)
def _forget() -> None:
    made.clear()


def test_an_episode_earns_the_sum_of_its_steps_and_keeps_them() -> None:
    trajectory = play(EnvironmentAgent(Counting), ["1", "x", "3"])
    assert trajectory.error == ""
    assert trajectory.trajectory_reward == 1.5
    assert [step.reward for step in trajectory.steps] == [1.0, -0.5, 1.0]
    assert [message["content"] for message in trajectory.chat_completions] == [
        "Play.\n\nCount.",
        "1",
        "1!",
        "x",
        "2!",
        "3",
    ]
    assert [one.closed for one in made] == [1]


@pytest.mark.parametrize(("agent", "limits"), [({}, {"max_steps": 2}), ({"max_turns": 2}, {})])
def test_a_budget_ends_an_episode_with_what_it_earned_until_then(agent: dict[str, Any], limits: dict[str, Any]) -> None:
    trajectory = play(EnvironmentAgent(Counting, **agent), ["1", "2", "3"], **limits)
    assert (trajectory.error, trajectory.trajectory_reward) == ("", 2.0)
    assert made[0].closed == 1


def test_the_opening_keeps_all_messages_of_the_data() -> None:
    agent = EnvironmentAgent(Counting, system_prompt="Be brief.")
    few = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    system = {"role": "system", "content": "Of the data."}
    first = {"role": "user", "content": "Begin"}
    ours = {"role": "system", "content": "Be brief."}
    assert agent.opening(Task(few), "Begin") == [ours, *few, first]
    assert agent.opening(Task([system, *few[:1]]), "Begin") == [system, {"role": "user", "content": "a\n\nBegin"}]
    assert agent.opening(Task([system]), "Begin") == [system, first]
    assert agent.opening(Task(few[:1]), "") == [ours, few[0]]
    assert agent.opening(Task(few), [first]) == [ours, first]


class Slow(Counting):
    """Blocks in threads of its own, so that many episodes go on at the same time."""

    inline = False

    def step(self, message: Message) -> Observation:
        assert threading.current_thread() is not self.thread
        time.sleep(0.2)
        return Observation(reward=1.0, done=True)


def test_blocking_environments_do_not_wait_for_each_other() -> None:
    engine = ScriptedEngine([spelled(TOKENIZER, "go")])
    driver = Driver(
        engine, ChatFormat(TOKENIZER), max_prompt_length=64, max_response_length=64, max_tokens=8, max_steps=1
    )
    start = time.perf_counter()
    results = asyncio.run(driver.run(EnvironmentAgent(Slow), [make_task() for _ in range(20)]))
    assert [one.trajectory_reward for one in results] == [1.0] * 20
    assert time.perf_counter() - start < 2


class Async(Environment):
    async def reset(self, task: Task) -> list[Message]:
        return [{"role": "user", "content": task.ground_truth}]

    async def step(self, message: Message) -> Observation:
        await asyncio.sleep(0)
        return Observation(done=True, reward=float(message["content"] == "yes"))


def test_methods_may_be_async() -> None:
    trajectory = play(EnvironmentAgent(Async), ["yes"], make_task(ground_truth="Well?"))
    assert trajectory.trajectory_reward == 1.0
    assert trajectory.chat_completions[0]["content"] == "Well?"


class Broken(Counting):
    def step(self, message: Message) -> Observation:
        raise OSError("the server is gone")


class Endless(Counting):
    inline = False

    def step(self, message: Message) -> Observation:
        time.sleep(3)
        return Observation()


class Wrong(Counting):
    def step(self, message: Message) -> Observation:
        return ("text", 1.0, False)  # type: ignore[return-value]


class Infinite(Counting):
    def step(self, message: Message) -> Observation:
        return Observation(reward=float("inf"))


@pytest.mark.parametrize(
    ("environment", "said", "reason"),
    [
        (Broken, r"OSError: the server is gone", "error"),
        (Endless, r"LateError: Endless.step took longer than 0.3 s", "timeout"),
        (Wrong, r"TypeError: Wrong.step returned a tuple; return an Observation", "error"),
        (Infinite, r"turn 0 was given the reward inf; it must be a finite number", "error"),
    ],
)
def test_a_broken_environment_fails_its_rollout_and_is_closed(
    environment: type[Counting], said: str, reason: str
) -> None:
    trajectory = play(EnvironmentAgent(environment), ["1"], turn_timeout=0.3)
    assert said in trajectory.error
    assert trajectory.finish_reason == reason
    assert made[0].closed == 1


def test_what_is_no_environment_is_refused() -> None:
    trajectory = play(EnvironmentAgent(dict), ["1"])  # type: ignore[arg-type]
    assert "the environment is a dict; make it a subclass of Environment" in trajectory.error


def test_a_close_that_fails_is_told_and_costs_no_reward(caplog: pytest.LogCaptureFixture) -> None:
    class Unclosable(Counting):
        def close(self) -> None:
            raise OSError("busy")

    with caplog.at_level(logging.WARNING):
        assert play(EnvironmentAgent(Unclosable), ["1", "2", "3"]).trajectory_reward == 3.0
    assert "Unclosable.close: OSError: busy" in caplog.text


def test_the_judgement_may_be_overridden() -> None:
    class Last(EnvironmentAgent):
        def reward(self, task: Task, observations: Sequence[Observation]) -> float:
            return observations[-1].reward

    assert play(Last(Counting), ["x", "x", "3"]).trajectory_reward == 1.0


def test_a_step_reward_needs_a_turn() -> None:
    class Early(Agent):
        async def run(self, task: Task, model: Any) -> float:
            model.reward_step(1.0)
            return 0.0

    assert "reward_step() was called before the policy had a turn" in play(Early(), ["1"]).error
