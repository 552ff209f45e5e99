from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.agents import AgentFileError
from agentic_rl.backends.verl.inside.room import Rolled, RolloutRoom, room_of
from agentic_rl.backends.verl.inside.tasks import Sampling, task_of
from rollout_doubles import spelled
from verl_server_doubles import ANSWER, FORMAT, GREEDY, TRAINING, ServerManager, row, settings

WRAPPER = """\
import asyncio
from agentic_rl import BaseEngineWrapper, Trajectory
from sibling import text

class Mine(BaseEngineWrapper):
    batches, made = [], 0

    def initialize(self):
        type(self).made += 1

    {form}

    async def one(self, task):
        body = dict(messages=task["prompt"], logprobs=True, return_token_ids=True)
        answer = await self.completions[0](**body)
        ids = answer["choices"][0]["token_ids"]
        return Trajectory(answer["prompt_token_ids"], ids, [1] * len(ids), idx=task["idx"], trajectory_reward=text())
"""
BATCH = """def generate_agent_trajectories_async(self, tasks):
        self.batches.append([(task["idx"], task["sample_id"]) for task in tasks])
        return asyncio.run(self.all(tasks))

    async def all(self, tasks):
        done = await asyncio.gather(*map(self.one, tasks))
        for place, trajectory in enumerate(done):
            trajectory.idx = place
        return done"""
SINGLE = """async def generate_trajectory(self, task, stream_queue=None):
        return await self.one(task)"""


def roll(room: RolloutRoom, rows: list[dict[str, Any]], params: dict[str, Any] = TRAINING) -> list[Rolled]:
    sampling = Sampling.of(params)

    async def whole() -> list[Rolled]:
        tasks = [task_of(one, 3, greedy=sampling.greedy) for one in rows]
        return await asyncio.gather(
            *(room.rollout(task, sampling, one["uid"]) for task, one in zip(tasks, rows, strict=True))
        )

    return asyncio.run(whole())


def make_room(manager: ServerManager, **changes: Any) -> RolloutRoom:
    return RolloutRoom(settings(**changes), manager, FORMAT.tokenizer, 4000)


def agent_file(folder: Path, form: str) -> str:
    (folder / "sibling.py").write_text("def text():\n    return 0.25\n")
    (folder / "mine.py").write_text(WRAPPER.format(form=form))
    return str(folder / "mine.py")


def test_a_bounded_number_of_rollouts_of_an_agent_is_in_flight() -> None:
    manager = ServerManager(step=4)
    rolled = roll(make_room(manager, n_parallel_agents=3), [row(place) for place in range(8)])
    assert manager.most_in_flight == 3
    assert [one.trajectory.trajectory_reward for one in rolled] == [1.0] * 8
    assert all(one.trajectory.response_tokens == ANSWER for one in rolled)
    assert all((one.served.oldest, one.served.newest) == (4, 4) for one in rolled)
    assert len({id(one.served) for one in rolled}) == 8


@pytest.mark.parametrize(
    ("params", "temperature", "top_k", "top_p"),
    [(TRAINING, 0.7, 20, 0.9), (GREEDY, 0.0, 20, 0.9), ({**TRAINING, "temperature": 1.5, "top_k": 3}, 1.5, 3, 0.9)],
)
def test_verl_says_how_a_rollout_is_sampled(
    params: dict[str, Any], temperature: float, top_k: int, top_p: float
) -> None:
    manager = ServerManager()
    roll(make_room(manager), [row()], params)
    asked = manager.requests[0].sampling
    assert (asked["temperature"], asked["top_k"], asked["top_p"], asked["min_p"]) == (temperature, top_k, top_p, 0.01)


def test_a_wrapper_of_batches_gets_a_step_in_one_call(tmp_path: Path) -> None:
    room = make_room(ServerManager(), agent_file=agent_file(tmp_path, BATCH))
    rows = [row(session, uid=uid) for session in range(2) for uid in ("one", "two", "three")]
    rolled = roll(room, rows)
    assert room.agent.batches == [[(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]]  # type: ignore[union-attr]
    assert [one.trajectory.error for one in rolled] == [""] * 6
    assert {one.trajectory.trajectory_reward for one in rolled} == {0.25}
    assert all(one.served.newest == 4 and one.trajectory.response_logprobs for one in rolled)
    roll(room, rows, GREEDY)
    assert (len(room.agent.batches), room.agent.made) == (2, 1)  # type: ignore[union-attr]


def test_a_wrapper_of_single_tasks_gets_each_as_it_comes(tmp_path: Path) -> None:
    manager = ServerManager()
    room = make_room(manager, agent_file=agent_file(tmp_path, SINGLE), n_parallel_agents=3)
    rolled = roll(room, [row(place) for place in range(9)])
    assert [one.trajectory.error for one in rolled] == [""] * 9
    assert manager.most_in_flight == 3
    assert room.agent.made == 1  # type: ignore[union-attr]
    assert all(one.served.newest == 4 and one.trajectory.response_logprobs for one in rolled)


def test_a_process_has_one_room_and_a_broken_file_is_read_once(tmp_path: Path) -> None:
    manager = ServerManager()
    assert room_of(settings(), manager, FORMAT.tokenizer, 9) is room_of(settings(), manager, FORMAT.tokenizer, 9)
    assert room_of(settings(seed=4), manager, FORMAT.tokenizer, 9) is not room_of(
        settings(), manager, FORMAT.tokenizer, 9
    )
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    raised = []
    for _ in range(2):
        with pytest.raises(AgentFileError, match="nothing_of_this_name") as caught:
            room_of(settings(agent_file=str(tmp_path / "broken.py")), manager, FORMAT.tokenizer, 9)
        raised.append(caught.value)
    assert raised[0] is raised[1]


CLIENT = """\
import aiohttp
from agentic_rl import Agent, BaseEngineWrapper, Trajectory

async def ask(url, key, prompt):
    headers = {{"Authorization": f"Bearer {{key}}"}}
    async with aiohttp.ClientSession() as session:
        async with session.post(f"{{url}}/chat/completions", json={{"messages": prompt}}, headers=headers) as response:
            return (await response.json())["choices"][0]["message"]["content"]

{use}
"""
OF_A_MODEL = """class Client(Agent):
    async def run(self, task, model):
        return len(await ask(model.base_url, model.api_key, task.prompt))"""
OF_A_WRAPPER = """class Client(BaseEngineWrapper):
    async def generate_trajectory(self, task, stream_queue=None):
        text = await ask(f"http://{self.server_addresses[0]}/v1", "none", task["prompt"])
        return Trajectory([1], [2], [1], idx=task["idx"], trajectory_reward=len(text))"""


@pytest.mark.parametrize("use", [OF_A_MODEL, OF_A_WRAPPER])
def test_clients_of_openai_reach_verls_servers_through_the_worker(tmp_path: Path, use: str) -> None:
    pytest.importorskip("aiohttp")
    file = tmp_path / "client.py"
    file.write_text(CLIENT.format(use=use))
    rolled = roll(make_room(ServerManager(step=4), agent_file=str(file)), [row(place) for place in range(3)])
    assert [one.trajectory.error for one in rolled] == [""] * 3
    assert [one.trajectory.trajectory_reward for one in rolled] == [float(len(FORMAT.text(ANSWER)))] * 3
    of_each = [one.served.newest for one in rolled]  # calls of wrappers don't say whose they are: the latest's
    assert of_each == [4, 4, 4] if use == OF_A_MODEL else 4 in of_each


TWO_TURNS = """\
from agentic_rl import Agent

class Two(Agent):
    async def run(self, task, model):
        messages = [*task.prompt]
        messages += [await model.chat(messages), {"role": "user", "content": "Sure?"}]
        await model.chat(messages)
        return 1.0
"""


@pytest.mark.parametrize("forgets", [True, False])
def test_a_policy_may_be_shown_its_replies_without_their_thoughts(tmp_path: Path, forgets: bool) -> None:
    file = tmp_path / "two.py"
    file.write_text(TWO_TURNS)
    manager = ServerManager(spelled(FORMAT.tokenizer, "<think>\n12*7\n</think>\n\n84"))
    (rolled,) = roll(make_room(manager, agent_file=str(file), forget_thoughts=forgets), [row()])
    assert rolled.trajectory.error == ""
    shown = FORMAT.decode(manager.requests[1].prompt)
    assert ("12*7" in shown) == (not forgets)
    assert "84" in shown
