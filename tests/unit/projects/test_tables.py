from __future__ import annotations

import random
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from agentic_rl.agents.tools.calculator import calculate
from agentic_rl.projects.quickstart.problems import make_problems


@pytest.mark.parametrize(("split", "rows"), [("train", 1600), ("test", 256)])
def test_tasks_have_verls_layout(project: Path, split: str, rows: int) -> None:
    table = pq.read_table(project / "data" / f"{split}.parquet").to_pylist()
    assert len(table) == rows
    for index, row in enumerate(table):
        assert set(row) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
        assert [message["role"] for message in row["prompt"]] == ["user"]
        assert row["reward_model"] == {"style": "rule", "ground_truth": calculate(row["extra_info"]["expression"])}
        assert row["extra_info"]["index"] == index
        assert row["extra_info"]["split"] == split
    assert {row["data_source"] for row in table} == {"calc/add", "calc/subtract", "calc/multiply", "calc/divide"}


def test_training_and_test_questions_are_disjoint(project: Path) -> None:
    texts = {
        split: {row["prompt"][0]["content"] for row in pq.read_table(project / "data" / f"{split}.parquet").to_pylist()}
        for split in ("train", "test")
    }
    assert len(texts["train"]) == 1600
    assert not texts["train"] & texts["test"]


def test_the_files_hold_the_problems_of_the_seed(project: Path) -> None:
    expected = [problem.text for problem in make_problems(256, random.Random("5/test"), test=True)]
    rows = pq.read_table(project / "data" / "test.parquet").to_pylist()
    assert [row["prompt"][0]["content"] for row in rows] == expected


def test_demonstrations_are_messages_with_calls(project: Path) -> None:
    rows = pq.read_table(project / "data" / "demonstrations.parquet").to_pylist()
    assert len(rows) == 4096
    roles = {tuple(message["role"] for message in row["messages"]) for row in rows}
    assert roles == {("user", "assistant"), ("user", "assistant", "tool", "assistant")}
