"""Configurations of the local backend whose files are there, with the documented modes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from agentic_rl.config.load import Loaded, load
from agentic_rl.config.secure_paths import fix_permissions
from artifact_doubles import write_model

Row = dict[str, Any]
Load = Callable[..., Loaded]


def task_row(number: int, **changes: Any) -> Row:
    """A row in verl's layout."""
    row = {
        "data_source": f"source/{number % 2}",
        "prompt": [{"role": "user", "content": f"question {number}"}],
        "reward_model": {"style": "rule", "ground_truth": str(number)},
        "extra_info": {"index": number},
    }
    return {**row, **changes}


@pytest.fixture
def rows() -> list[Row]:
    return [task_row(number) for number in range(5)]


@pytest.fixture
def loaded(tmp_path: Path, rows: list[Row]) -> Load:
    """Write data files and a configuration, and load it; `section` and keywords change its keys."""
    folder = tmp_path / "files"

    def make(
        section: Row | None = None, *, train: Sequence[Row] | None = None, sft: Sequence[Row] = (), **keys: Any
    ) -> Loaded:
        write_model(folder / "model")
        tables = {"train": rows if train is None else train, "test": rows, **({"warmup": sft} if sft else {})}
        for name, content in tables.items():
            pq.write_table(pa.Table.from_pylist(list(content)), folder / f"{name}.parquet")
        files = {"train_files": "train", "val_files": "test", **({"sft_files": "warmup"} if sft else {})}
        paths = {key: str(folder / f"{name}.parquet") for key, name in files.items()}
        tree = {
            "tokenizer_name_or_path": str(folder / "model"),
            "agent_name": "math",
            "train_backend": "local",
            "entropy_coeff": 0.01,
            **keys,
            "local": {**paths, "train_batch_size": 2, **(section or {})},
        }
        path = folder / "config.yaml"
        path.write_text(yaml.safe_dump(tree))
        fix_permissions([str(folder)])
        return load(path, environ={})

    return make
