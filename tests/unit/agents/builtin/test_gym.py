from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.agents import Environment, Observation, Task, Trajectory
from agentic_rl.agents.builtin.grid import BUMP, GOAL, MOVES, STEP, Grid
from agentic_rl.agents.builtin.guess import NONSENSE, Guess
from agentic_rl.agents.builtin.gym import GAMES, GymAgent
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.driver import Driver
from rollout_doubles import ScriptedEngine, make_task, make_tokenizer, spelled

TOKENIZER = make_tokenizer()


def say(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def play(agent: GymAgent, replies: Sequence[str], **task: Any) -> Trajectory:
    driver = Driver(
        ScriptedEngine([spelled(TOKENIZER, reply) for reply in replies]),
        ChatFormat(TOKENIZER),
        max_prompt_length=512,
        max_response_length=2048,
        max_tokens=16,
        max_steps=30,
    )
    (trajectory,) = asyncio.run(driver.run(agent, [make_task("Play.", **task)]))
    return trajectory


def best_move(grid: Grid) -> str:
    def left(move: str) -> float:
        place = grid.after(grid.place, move)
        distance = None if place is None else grid.distance(place)
        return float("inf") if distance is None else distance

    return min(MOVES, key=left)


@pytest.mark.parametrize("game", GAMES.values())
@given(seed=st.integers(0, 10**6), data=st.data())
def test_equal_seeds_give_equal_games(game: Callable[[], Any], seed: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 9))
    words = data.draw(st.lists(st.sampled_from([*MOVES, "5", "2", "hm", ""]), max_size=12))
    task = Task([], extra_info={"seed": seed, "size": size})
    told = []
    for _ in range(2):
        one = game()
        told.append([one.reset(task), one.solution(), *(one.step(say(word)) for word in words)])
    assert told[0] == told[1]


@given(st.integers(0, 10**6), st.integers(2, 8))
def test_a_grid_can_be_walked_and_the_shortest_way_earns_most(seed: int, size: int) -> None:
    grid = Grid()
    opening = grid.begin(seed, size)
    assert opening.count("Y") == opening.count("G ") + opening.count("G\n") == 1
    steps = int(grid.solution())
    seen = [grid.step(say(f"I go {best_move(grid)}.")) for _ in range(steps)]
    assert [one.done for one in seen] == [False] * (steps - 1) + [True]
    assert sum(one.reward for one in seen) == pytest.approx(GOAL + steps * STEP)


def test_steps_that_lead_nowhere_cost_more_and_the_walk_ends() -> None:
    grid = Grid()
    grid.begin(1, 4)
    blocked = next(move for move in MOVES if grid.after(grid.place, move) is None)
    place = grid.place
    first, second = grid.step(say(blocked.upper())), grid.step(say("upwards and so on"))
    assert (first.reward, second.reward) == (BUMP, BUMP)
    assert first.text.startswith("There is no way. The goal is")
    assert second.text.startswith("Say up, down, left or right.")
    assert grid.place == place
    count = 2 * int(grid.solution()) + 4
    rest = [grid.step(say("")) for _ in range(count - 2)]
    assert [one.done for one in rest] == [False] * (count - 3) + [True]


@given(st.integers(0, 10**6), st.integers(2, 10_000))
def test_halving_the_range_always_finds_the_number(seed: int, size: int) -> None:
    game = Guess()
    game.begin(seed, size)
    low, high = 1, size
    while True:
        middle = (low + high) // 2
        seen = game.step(say(f"Maybe {middle}."))
        if seen.done:
            break
        low, high = (middle + 1, high) if seen.text.startswith("Higher") else (low, middle - 1)
    assert (seen.text, seen.reward) == ("That is the number.", 1.0)


@pytest.mark.parametrize("text", ["", "17", "0", "-3", "four", "x5y", "9" * 5000, "3.5"])
def test_what_is_no_number_of_the_range_costs(text: str) -> None:
    game = Guess()
    game.begin(0, 16)
    seen = game.step(say(text))
    assert (seen.reward, seen.text) == (NONSENSE, "Say a number from 1 to 16. Guesses left: 4.")


def test_the_agent_plays_what_the_row_names() -> None:
    number = Guess()
    number.begin(7, 4)
    replies = ["9", number.solution()]
    for task in ({"extra_info": {"environment": "guess", "seed": 7, "size": 4}},):
        trajectory = play(GymAgent(), replies, **task)
        assert trajectory.error == ""
        assert [step.reward for step in trajectory.steps] == [NONSENSE, 1.0]
        assert trajectory.trajectory_reward == pytest.approx(0.9)
    assert play(GymAgent(), ["up"], data_source="gym/grid").error == ""


def test_an_opening_that_the_prompt_has_is_not_shown_twice() -> None:
    opening = Guess().begin(0, 16)
    assert Guess().reset(Task([{"role": "user", "content": f"Hello.\n{opening}"}])) == ""
    assert Guess().reset(Task([{"role": "user", "content": "Hello."}])) == opening


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ({"environment": "chess"}, "extra_info.environment is 'chess'; there are: grid, guess"),
        ({}, "extra_info.environment is ''; there are: grid, guess"),
        ({"environment": "grid", "size": 40}, "extra_info.size is 40; grid has sizes from 2 to 12"),
        ({"environment": "grid", "size": True}, "extra_info.size is True; it must be a whole number"),
        ({"environment": "guess", "seed": "x"}, "extra_info.seed is 'x'; it must be a whole number"),
    ],
)
def test_a_row_that_names_no_game_fails_its_rollout(extra: dict[str, Any], said: str) -> None:
    assert said in play(GymAgent(), ["up"], extra_info=extra).error


def test_environments_of_ones_own_join_them() -> None:
    class One(Environment):
        def reset(self, task: Task) -> str:
            return "Say one."

        def step(self, message: dict[str, Any]) -> Observation:
            return Observation(reward=float(message["content"] == "one"), done=True)

    agent = GymAgent({"one": One}, system_prompt="Be brief.")
    trajectory = play(agent, ["one"], extra_info={"environment": "one"})
    assert trajectory.trajectory_reward == 1.0
    assert trajectory.chat_completions[0] == {"role": "system", "content": "Be brief."}
