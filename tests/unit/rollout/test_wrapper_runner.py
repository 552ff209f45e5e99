"""Existing wrapper classes, in both forms, on our engine."""

from __future__ import annotations

import asyncio
import copy
import pickle
import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch

from agentic_rl.agents import AgentFileError, BaseEngineWrapper, Step, StepTrajectory, Task, Trajectory
from agentic_rl.agents.wrapper_task import WrapperTask
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import ScriptedEngine, make_task, make_tokenizer, spelled

FORMAT = ChatFormat(make_tokenizer())
ANSWER = spelled(FORMAT.tokenizer, r"\boxed{84}")
TASKS = [
    Task([{"role": "user", "content": f"q{place // 2}"}], "84", "gsm8k", {"level": place}, place // 2, place % 2)
    for place in range(6)
]


def run(wrapper: type[BaseEngineWrapper], tasks: list[Task] = TASKS, **settings: Any) -> list[Trajectory]:
    limits = {"max_prompt_length": 99, "max_response_length": 98, "max_tokens": 50, "max_steps": 3, **settings}

    async def whole() -> list[Trajectory]:
        driver = Driver(ScriptedEngine([ANSWER]), FORMAT, agent_name="math", n_parallel_agents=4, **limits)
        await driver.run(wrapper, tasks)
        trajectories = await driver.run(wrapper, tasks)  # the same object runs every batch
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return trajectories

    return asyncio.run(whole())


class Batch(BaseEngineWrapper):
    """The older form, built as released files are: a thread pool, an event loop of its own, completions by tokens."""

    made = 0

    def initialize(self) -> None:
        type(self).made += 1
        self.pool = ThreadPoolExecutor(2)

    def generate_agent_trajectories_async(self, tasks: list[dict[str, Any]]) -> list[Trajectory]:
        return asyncio.run(self.all(tasks))

    async def all(self, tasks: list[dict[str, Any]]) -> list[Trajectory]:
        done = [
            await each for each in asyncio.as_completed([self.one(place, task) for place, task in enumerate(tasks)])
        ]
        return [Trajectory(**fields) for fields in done]

    async def one(self, place: int, task: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0.01 * (len(TASKS) - place))  # so that they end in another order
        prompt = await asyncio.get_running_loop().run_in_executor(
            self.pool, lambda: self.tokenizer.apply_chat_template(task["prompt"], add_generation_prompt=True)
        )
        body = {"prompt": list(prompt["input_ids"]), "max_tokens": 40, **(self.sampling_params or {})}
        choice = (await self.completions[0](**body))["choices"][0]
        return {
            "prompt_tokens": torch.tensor(body["prompt"]),
            "response_tokens": torch.tensor(choice["token_ids"]),
            "response_masks": torch.ones(len(choice["token_ids"]), dtype=torch.long),
            "idx": place,
            "trajectory_reward": float(task["level"]),
            "chat_completions": [*task["prompt"], {"role": "assistant", "content": choice["text"]}],
        }


def test_the_older_form_runs_all_tasks_in_one_blocking_call() -> None:
    Batch.made = 0
    trajectories = run(Batch)
    assert Batch.made == 1
    assert [trajectory.idx for trajectory in trajectories] == [0, 0, 1, 1, 2, 2]
    assert [trajectory.trajectory_reward for trajectory in trajectories] == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    assert {trajectory.error for trajectory in trajectories} == {""}
    assert trajectories[3].prompt_tokens == list(FORMAT.initial_ids(TASKS[3].prompt))
    assert trajectories[3].response_tokens == ANSWER
    assert trajectories[3].response_logprobs == [-0.001 * (place + 1) for place in range(len(ANSWER))]


class Single(BaseEngineWrapper):
    """The newer form."""

    async def generate_trajectory(self, task: Any, stream_queue: Any = None) -> Any:
        if task.level == 2:
            raise KeyError("lost")
        if task.level == 3:
            await asyncio.sleep(600)
        if task.level == 4:
            return {"prompt_tokens": [1], "response_tokens": [2], "response_masks": []}
        if task.level == 5:
            future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            future.cancel()
            return await future
        choice = (await self.completions[0](messages=task["prompt"]))["choices"][0]
        answer = choice["token_ids"]
        prompt = list(FORMAT.initial_ids(task["prompt"]))
        return {"prompt_tokens": prompt, "response_tokens": answer, "response_masks": [1] * len(answer), "idx": 5}


def test_the_newer_form_runs_each_task_on_its_own() -> None:
    trajectories = run(Single, trajectory_timeout=0.1)
    assert [trajectory.response_tokens for trajectory in trajectories] == [ANSWER, ANSWER, [], [], [], []]
    assert [trajectory.idx for trajectory in trajectories] == [0, 0, 1, 1, 2, 2]
    assert trajectories[0].response_logprobs
    assert re.fullmatch(rf"KeyError: 'lost' \({re.escape(__file__)}:\d+\)", trajectories[2].error)
    assert (trajectories[3].finish_reason, trajectories[3].error[:9]) == ("timeout", "LateError")
    assert trajectories[4].error.startswith("TrajectoryFieldError: response_masks has 0 entries for 1 response_tokens")
    assert trajectories[5].error.startswith("CancelledError")


def test_the_constructor_and_the_task_have_what_released_files_read() -> None:
    seen: dict[str, Any] = {}

    class Looks(BaseEngineWrapper):
        def initialize(self) -> None:
            seen.update(vars(self))

        def generate_agent_trajectories_async(self, tasks: list[dict[str, Any]]) -> list[Trajectory]:
            seen["task"] = tasks[3]
            raise KeyError("enough")

    assert {one.error.partition(" (")[0] for one in run(Looks, temperature=0.5)} == {"KeyError: 'enough'"}
    assert (seen["agent_name"], seen["max_prompt_length"], seen["max_response_length"]) == ("math", 99, 98)
    assert (seen["n_parallel_agents"], seen["max_steps"]) == (4, 3)
    assert seen["sampling_params"] == {"temperature": 0.5, "top_k": -1, "top_p": 1.0, "min_p": 0.0, "max_tokens": 50}
    assert len(seen["completions"]) == 1
    task = seen["task"]
    assert (task["problem"], task["ground_truth"], task["level"], task["data_source"]) == ("q1", "84", 3, "gsm8k")
    assert (task.question, task.prompt_id, task.sample_id, task.extra_args) == ("q1", 1, 1, {"level": 3})
    with pytest.raises(AttributeError, match="the task has no 'answer'; it has problem, question"):
        _ = task.answer


def test_a_batch_that_never_ends_is_timed_out() -> None:
    class Sleeps(BaseEngineWrapper):
        def generate_agent_trajectories_async(self, tasks: list[dict[str, Any]]) -> list[Trajectory]:
            time.sleep(2)
            return []

    assert {one.finish_reason for one in run(Sleeps, trajectory_timeout=0.05)} == {"timeout"}


def test_a_wrong_number_of_results_is_told_for_every_task() -> None:
    class Few(BaseEngineWrapper):
        def generate_agent_trajectories_async(self, tasks: list[dict[str, Any]]) -> list[Trajectory]:
            return []

    assert {one.error for one in run(Few)} == {"TrajectoryFieldError: the wrapper returned 0 trajectories for 6 tasks"}


def test_a_wrapper_that_can_not_be_started_is_an_agent_file_error() -> None:
    class Strict(BaseEngineWrapper):
        def __init__(self, agent_name: str, tokenizer: Any) -> None:
            super().__init__(agent_name, tokenizer)

    class Broken(Single):
        def initialize(self) -> None:
            raise KeyError("search_url")

    with pytest.raises(AgentFileError, match=r"Strict can't be started: TypeError: .*unexpected keyword"):
        run(Strict)
    with pytest.raises(
        AgentFileError, match=r"test_wrapper_runner.py:\d+: Broken can't be started: KeyError: 'search_url'"
    ):
        run(Broken)


def test_no_tasks_start_no_wrapper() -> None:
    assert run(Single, []) == []


def test_evaluation_asks_for_greedy_answers() -> None:
    async def whole() -> None:
        engine = ScriptedEngine([ANSWER])
        driver = Driver(engine, FORMAT, max_prompt_length=99, max_response_length=99, max_tokens=50, max_steps=3)
        await driver.run(Single, [make_task(greedy=True, extra_info={"level": 0})])
        assert engine.calls[0][1].temperature == 0.0

    asyncio.run(whole())


def test_a_wrapper_that_returns_nothing_is_told_to_return() -> None:
    class Forgets(BaseEngineWrapper):
        async def generate_trajectory(self, task: Any, stream_queue: Any = None) -> Any:
            await asyncio.sleep(0)

    told = "TrajectoryFieldError: generate_trajectory returned None; return a Trajectory"
    assert {one.error for one in run(Forgets)} == {told}


def test_the_newer_form_may_be_plain() -> None:
    class Plain(BaseEngineWrapper):
        def generate_trajectory(self, task: Any, stream_queue: Any = None) -> Any:
            return {"prompt_tokens": [1], "response_tokens": [2], "response_masks": [0], "trajectory_reward": 2.0}

    assert [(one.trajectory_reward, one.error) for one in run(Plain)] == [(2.0, "")] * 6


class Stepwise(BaseEngineWrapper):
    """The older form in its step mode: conversations in steps, and empty tensors in place of tokens."""

    def generate_agent_trajectories_async(self, tasks: list[dict[str, Any]]) -> list[StepTrajectory]:
        return asyncio.run(self.all(tasks))

    async def all(self, tasks: list[dict[str, Any]]) -> list[StepTrajectory]:
        return [await self.one(place, task) for place, task in enumerate(tasks)]

    async def one(self, place: int, task: dict[str, Any]) -> StepTrajectory:
        messages = list(task["prompt"])
        steps = []
        for reward in (0.25, 1.0):
            choice = (await self.completions[0]({"messages": list(messages), "detokenize": True}))["choices"][0]
            text = choice["message"]["content"]
            messages.append({"role": "assistant", "content": text})
            steps.append(Step(chat_completions=list(messages), model_response=text, reward=reward, done=reward == 1.0))
            messages.append({"role": "user", "content": "Go on."})
        empty = torch.tensor([])
        return StepTrajectory(
            prompt_tokens=empty,
            response_tokens=empty,
            response_masks=empty,
            idx=place,
            trajectory_reward=1.25,
            steps=steps,
            task=task,
        )


def test_steps_without_tokens_get_those_that_the_policy_sampled() -> None:
    trajectories = run(Stepwise)
    assert {one.error for one in trajectories} == {""}
    first = trajectories[0]
    assert [step.reward for step in first.steps] == [0.25, 1.0]
    assert [segment.response_tokens for segment in first.parts()] == [ANSWER, ANSWER]
    assert [segment.response_masks for segment in first.parts()] == [[1] * len(ANSWER)] * 2
    assert all(segment.response_logprobs for segment in first.parts())
    assert first.parts()[0].prompt_tokens == list(FORMAT.initial_ids(TASKS[0].prompt))
    assert first.response_tokens == ANSWER


def test_steps_of_a_text_that_nobody_sampled_are_tokenized_and_steps_without_one_are_told() -> None:
    class Told(BaseEngineWrapper):
        async def generate_trajectory(self, task: Any, stream_queue: Any) -> Any:
            assert stream_queue is None
            step = Step(chat_completions=[*task["prompt"], {"role": "assistant", "content": "84"}])
            return StepTrajectory(steps=[step] if task.level else [Step()], trajectory_reward=1.0)

    trajectories = run(Told)
    assert "steps[0] has no chat_completions, and the trajectory no tokens" in trajectories[0].error
    assert FORMAT.text(list(trajectories[1].response_tokens)) == "84"
    assert trajectories[1].response_logprobs == []


def test_a_task_has_the_keys_and_attributes_of_both_released_forms() -> None:
    view = WrapperTask.of(TASKS[3], "math")
    assert (view["id"], view["question"], view["ground_truth"]) == ("1-1", "q1", "84")
    assert (view.task_id, view.sample_id, view.iteration, view.prompt_id) == ("1-1", 1, 0, 1)
    assert (view.agent_name, view.problem, view.content, view.extra_args["level"]) == ("math", "q1", "", 3)
    assert pickle.loads(pickle.dumps(copy.deepcopy(view))) == view
