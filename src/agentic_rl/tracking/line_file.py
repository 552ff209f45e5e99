"""A file of JSON lines that can be cut back to where a checkpoint saw it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentic_rl.config.writing import open_append


class LineFile:
    """Appends one JSON object a line. ASCII only, so that a lone surrogate of a byte-level tokenizer is safe."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = open_append(path)
        self._file.seek(0, os.SEEK_END)

    @property
    def position(self) -> int:
        """The length in bytes, everything written included."""
        return self._file.tell()

    def write(self, record: Mapping[str, Any]) -> None:
        """Add one line; it reaches the file at the next `flush`."""
        self._file.write(json.dumps(record, separators=(", ", ": ")).encode() + b"\n")

    def cut(self, position: int) -> bool:
        """Remove everything after byte `position`; False (and nothing done) where no line ends there."""
        self._file.flush()
        if not self._line_ends_at(position):
            return False
        self._file.truncate(position)
        self._file.seek(position)
        return True

    def flush(self) -> None:
        """Hand everything to the operating system: a killed process loses nothing of it."""
        self._file.flush()

    def sync(self) -> None:
        """Bring everything to the disk: a power cut loses nothing of it."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Write what is held back, and close."""
        self._file.close()

    def _line_ends_at(self, position: int) -> bool:
        if position == 0:
            return True
        with self.path.open("rb") as file:
            file.seek(position - 1)
            return file.read(1) == b"\n"


def finite(values: Mapping[str, float]) -> dict[str, float | None]:
    """The values with `None` for what JSON can't say (NaN and infinities)."""
    return {name: value if math.isfinite(value) else None for name, value in values.items()}
