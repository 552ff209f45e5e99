"""A collection of documents on disk: JSON lines, read one by one where they lie."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentic_rl.agents.tools.passages import Passage, SearchError, passage

LINES = (".jsonl", ".ndjson")
PARQUET = ".parquet"


class Documents:
    """Documents by their numbers.

    Args:
        path: a file of JSON lines.
        places: for each document where its line begins, and how many bytes it has. Shape (documents, 2).
    """

    def __init__(self, path: Path, places: Any) -> None:
        self._handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None:
            os.close(handle)

    def read(self, number: int, score: float) -> Passage:
        """Read a document; any thread may."""
        start, size = map(int, self._places[number])
        return passage(json.loads(os.pread(self._handle, size, start)), score)


def scan(path: Path) -> Iterator[tuple[int, int, Passage]]:
    """Go through a file of JSON lines: where each document begins, its bytes, and the document.

    Raises:
        SearchError: a line is no document; the message has its number.
    """
    start = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    yield start, len(line), passage(json.loads(line))
                except ValueError as error:
                    raise SearchError(f"{path}:{number}: {error}") from None
            start += len(line)


def write_lines(parquet: Path, target: Path) -> None:
    """Write the rows of a parquet file as JSON lines: its columns can't be read row by row.

    Raises:
        SearchError: it is no parquet file.
    """
    import pyarrow
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(parquet) as file, target.open("w", encoding="utf-8") as lines:
            for batch in file.iter_batches(batch_size=1024):
                lines.writelines(f"{json.dumps(row, default=str)}\n" for row in batch.to_pylist())
    except pyarrow.ArrowException as error:
        raise SearchError(f"{parquet}: {error}") from None
