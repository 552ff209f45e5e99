from __future__ import annotations

import numpy as np

from agentic_rl.backends.verl.inside.tasks import Sampling, task_of
from verl_server_doubles import GREEDY, TRAINING, row


def test_a_row_becomes_a_task_with_all_its_messages() -> None:
    task = task_of(row(2), seed=3)
    assert task.prompt == [{"role": "system", "content": "Do sums."}, {"role": "user", "content": "7*12?"}]
    assert (task.ground_truth, task.data_source, task.extra_info["level"]) == ("84", "sums", 2)
    assert (task.idx, task.sample, task.greedy) == (5, 2, False)


def test_rollouts_of_a_prompt_and_of_steps_have_seeds_of_their_own() -> None:
    tasks = [task_of(row(session, global_steps=step), seed=3) for session in (0, 1) for step in (1, 2)]
    assert len({task.seed for task in tasks}) == 4
    assert task_of(row(), seed=3).seed == task_of(row(), seed=3).seed


def test_a_bare_row_of_numpy_values_is_a_task() -> None:
    bare = {"raw_prompt": np.array([{"role": "user", "content": "?"}], dtype=object), "index": np.int64(7)}
    task = task_of(bare, seed=0, greedy=True)
    assert (task.idx, task.sample, task.ground_truth, task.data_source, task.greedy) == (7, 0, None, "", True)
    assert task_of({**bare, "index": "seven"}, seed=0).idx == 0


def test_temperature_zero_is_greedy() -> None:
    assert Sampling.of(TRAINING) == Sampling(0.7, 20, 0.9)
    assert Sampling.of(GREEDY).greedy
    assert not Sampling.of(TRAINING).greedy
