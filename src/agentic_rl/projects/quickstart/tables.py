"""The data files: tasks in verl's parquet layout, conversations for the warm-up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.config.writing import open_new
from agentic_rl.projects.quickstart.problems import Problem

if TYPE_CHECKING:
    import pyarrow as pa


def write_tasks(path: Path, problems: Iterable[Problem], split: str) -> None:
    """Write problems as tasks; each operation is a data source of its own, so that its accuracy is logged apart."""
    _write(path, [_task(problem, split, index) for index, problem in enumerate(problems)], None)


def write_conversations(path: Path, conversations: Sequence[list[dict[str, Any]]]) -> None:
    """Write conversations as the column `messages`."""
    import pyarrow as pa

    call = pa.struct(
        {"id": pa.string(), "type": pa.string(), "function": pa.struct({"name": pa.string(), "arguments": pa.string()})}
    )
    message = pa.struct(
        {"role": pa.string(), "content": pa.string(), "tool_calls": pa.list_(call), "tool_call_id": pa.string()}
    )
    rows = [{"messages": messages} for messages in conversations]
    _write(path, rows, pa.schema({"messages": pa.list_(message)}))


def _task(problem: Problem, split: str, index: int) -> dict[str, Any]:
    return {
        "data_source": f"calc/{problem.operation.name}",
        "prompt": [{"role": "user", "content": problem.text}],
        "ability": "math",
        "reward_model": {"style": "rule", "ground_truth": str(problem.answer)},
        "extra_info": {"split": split, "index": index, "expression": problem.expression},
    }


def _write(path: Path, rows: list[dict[str, Any]], schema: pa.Schema | None) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open_new(path) as file:
        pq.write_table(pa.Table.from_pylist(rows, schema), file)
