"""What the job tells the process that launched it: lines of JSON in a file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

from agentic_rl.tracking.line_file import LineFile


class Events:
    """Appends events to a file, each at once.

    Keys of an event: `stage` is a text for people; `begins` says that training or an evaluation begins to work; `total`
    and `done` are the steps of the training.
    """

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def say(self, stage: str | None = None, **more: Any) -> None:
        """Add one event.

        Raises:
            OSError: the file can't be written.
        """
        with closing(LineFile(self._path)) as file:
            file.write(more if stage is None else {"stage": stage, **more})
