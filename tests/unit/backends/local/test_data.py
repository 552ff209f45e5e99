from __future__ import annotations

from typing import Any

import pyarrow as pa

from agentic_rl.backends.local.data import DataOrder, Position, TaskTable, conversations, rollout_seed, total_steps


def table(rows: list[dict[str, Any]]) -> TaskTable:
    return TaskTable(pa.Table.from_pylist(rows))


def test_a_group_holds_the_rollouts_of_one_prompt_side_by_side(rows: list[dict[str, Any]]) -> None:
    tasks = table(rows).group([3, 1], samples=2, seed=0, step=1)
    assert [(task.ground_truth, task.idx, task.sample) for task in tasks] == [
        ("3", 0, 0),
        ("3", 0, 1),
        ("1", 1, 0),
        ("1", 1, 1),
    ]
    assert tasks[0].prompt == [{"role": "user", "content": "question 3"}]
    assert tasks[0].data_source == "source/1"
    assert tasks[0].extra_info == {"index": 3}
    assert not any(task.greedy for task in tasks)


def test_every_rollout_of_a_run_has_its_own_seed_and_a_resumed_run_the_same() -> None:
    seeds = [rollout_seed(0, step, idx, sample) for step in range(9) for idx in range(9) for sample in range(9)]
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert rollout_seed(0, 1, 2, 3) == seeds[81 + 18 + 3]
    assert rollout_seed(1, 1, 2, 3) != rollout_seed(0, 1, 2, 3)


def test_an_evaluation_takes_rows_in_their_order_and_greedily(rows: list[dict[str, Any]]) -> None:
    tasks = table(rows).greedy(3, 8)
    assert [(task.ground_truth, task.idx) for task in tasks] == [("3", 3), ("4", 4)]
    assert all(task.greedy for task in tasks)


def test_nulls_that_parquet_fills_in_are_no_part_of_a_message() -> None:
    call = {"id": "1", "function": {"name": "add", "arguments": "{}"}}
    rows = [
        {"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]},
        {"messages": [{"role": "user", "content": "hello"}]},
    ]
    (first,), (second,) = conversations(pa.Table.from_pylist(rows))
    assert first == {"role": "assistant", "tool_calls": [call]}
    assert second == {"role": "user", "content": "hello"}


def test_missing_columns_have_their_defaults() -> None:
    row = {"prompt": [{"role": "user", "content": "?"}], "reward_model": {"ground_truth": "1"}}
    (task,) = table([row]).greedy(0, 1)
    assert (task.data_source, task.extra_info) == ("", {})


def test_an_incomplete_last_batch_is_dropped() -> None:
    order = DataOrder(rows=5, batch_size=2, seed=0)
    first, position = order.take(Position())
    second, position = order.take(position)
    third, position = order.take(position)
    assert len({*first, *second}) == 4
    assert position == Position(epoch=1, row=2)
    assert len(third) == 2


def test_another_seed_or_epoch_gives_another_order() -> None:
    def epoch(seed: int, number: int) -> list[int]:
        return DataOrder(100, 100, seed).take(Position(number))[0]

    assert epoch(0, 0) != epoch(1, 0)
    assert epoch(0, 0) != epoch(0, 1)
    assert epoch(0, 1) == epoch(0, 1)


def test_the_number_of_steps() -> None:
    assert total_steps(rows=11, batch_size=4, epochs=3, wanted=None) == 6
    assert total_steps(rows=11, batch_size=4, epochs=3, wanted=100) == 100
