"""The files that an example of a rule lists, made on the disk."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from agentic_rl.config.rule_examples import HOME, Entry
from agentic_rl.config.secure_paths import fix_permissions
from artifact_doubles import task_rows, write_model

BASE: dict[str, Entry] = {
    "models/qwen/": {"model": {}},
    "data/train.parquet": {"tasks": 64},
    "data/test.parquet": {"tasks": 2},
    "data/math_packed_problem_document.bin": "tokens",
    "data/math_packed_problem_document.idx": "places",
    "params/latest_checkpointed_iteration.txt": "release",
    "params/release/__0_0.distcp": "weights",
    "out/": {},
}
"""What the keys name that every configuration needs."""


def write_tree(home: Path, files: Mapping[str, Entry]) -> None:
    """Make `BASE` and `files` below `home`, which stands for `HOME`, with their modes."""
    for path, entry in {**BASE, **files}.items():
        _write(home, path, {"text": entry} if isinstance(entry, str) else entry)
    fix_permissions([str(path) for path in home.iterdir()])
    for path, entry in files.items():
        if isinstance(entry, Mapping) and "mode" in entry:
            (home / path).chmod(int(str(entry["mode"]), 8))


def _write(home: Path, name: str, spec: Mapping[str, Any] | None) -> None:
    path = home / name
    if spec is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if "text" in spec:
        path.write_text(spec["text"].replace(HOME, str(home)), encoding=spec.get("encoding", "utf-8"))
    elif "link" in spec:
        path.symlink_to(spec["link"].replace(HOME, str(home)))
    elif "model" in spec:
        write_model(path, **spec["model"])
    elif "rows" in spec:
        pq.write_table(pa.Table.from_pylist(spec["rows"]), path)
    elif "tasks" in spec:
        rows = task_rows(max(spec["tasks"], 1), **spec.get("changed", {}))
        pq.write_table(pa.Table.from_pylist(rows).slice(0, spec["tasks"]), path)
    else:
        path.mkdir(exist_ok=True)
