"""Parquet files in verl's layout; folders 750, files 640."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agentic_rl.config.writing import make_folder, open_new

PARTS = ("train", "val")


def write_files(out: Path, parts: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, int]:
    """Write `NAME.parquet` for each part, all of them or none.

    Returns:
        Path -> rows.

    Raises:
        FileExistsError: one of them is there.
        OSError: the folder can't be written.
    """
    refuse_existing(out)
    paths = {name: out / f"{name}.parquet" for name in parts}
    make_folder(out)
    written: list[Path] = []
    try:
        for name, rows in parts.items():
            _write(paths[name], rows)
            written.append(paths[name])
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        raise
    return {str(paths[name]): len(rows) for name, rows in parts.items()}


def refuse_existing(out: Path) -> None:
    """Raise FileExistsError if a folder has one of the files already."""
    for name in PARTS:
        path = out / f"{name}.parquet"
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "is there already, and nothing is overwritten", str(path))


def _write(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pylist(list(rows))
    try:
        with open_new(path) as file:
            pq.write_table(table, file)
    except BaseException as error:
        if not isinstance(error, FileExistsError):
            path.unlink(missing_ok=True)
        raise
