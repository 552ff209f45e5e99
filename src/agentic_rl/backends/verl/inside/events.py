"""What the job tells the process that launched it: lines of JSON in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agentic_rl.tracking.line_file import LineFile


class Events:
    """Appends events to a file, each at once.

    Keys of an event: `stage` is a text for people; `begins` says that training or an evaluation begins to work; `total`
    and `done` are the steps of the training.
    """

    def __init__(self, path: str) -> None:
        self._file = LineFile(Path(path))

    def say(self, stage: str | None = None, **more: Any) -> None:
        """Add one event.

        Raises:
            OSError: the file can't be written.
        """
        self._file.write(more if stage is None else {"stage": stage, **more})
        self._file.flush()
