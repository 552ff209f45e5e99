"""Where the rollouts of a file are, found while the page is shown already, and while the file grows."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from agentic_rl.view.columns import Columns
from agentic_rl.view.summaries import Summary, opening_of, summary_of

MAX_LINE = 256 << 20
"""Bytes; a longer line is passed over."""
BATCH_SECONDS = 0.05
"""What is found becomes visible in batches of this length."""
TAIL = 256
"""Bytes before the position that was reached, by which a file is known again."""
PAUSE = 1.0
"""Seconds between two looks at a file that has been read to its end."""


@dataclass(frozen=True)
class Progress:
    """How far a file is read."""

    generation: int
    """Raised when the file was cut back or replaced, and reading began anew."""
    done: int
    """Bytes."""
    size: int
    """Bytes; 0 where there is no file."""
    unreadable: int
    """Lines that are no rollouts."""
    torn: bool
    """The file ends within a line: it is being written, or a process was killed."""


class Index:
    """The rollouts of one file. `refresh` reads what is new; `follow` does so in a thread of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._columns = Columns()
        self._identity = (0, 0)
        self._tail = b""
        """The last bytes that were read."""
        self._progress = Progress(0, 0, 0, 0, torn=False)

    @contextmanager
    def reading(self) -> Iterator[tuple[Columns, Progress]]:
        """What is known, unchanged within the block; keep it short."""
        with self._lock:
            yield self._columns, self._progress

    def follow(self) -> None:
        """Read the file and what is added to it until `stop`."""
        threading.Thread(target=self._follow, name="trajectories", daemon=True).start()

    def stop(self) -> None:
        """End the thread of `follow` soon."""
        self._stop.set()

    def refresh(self) -> None:
        """Read what is new in the file, from its beginning where it was cut back or replaced."""
        try:
            with self.path.open("rb", buffering=1 << 20) as file:
                self._read(file)
        except OSError:
            self._forget((0, 0))

    def line(self, row: int, generation: int | None = None) -> bytes:
        """The line of a rollout.

        Raises:
            LookupError: there is no such rollout, or the file has changed since `generation`.
            OSError: the file can't be read.
        """
        with self._lock:
            if generation not in {None, self._progress.generation}:
                raise LookupError("the file was cut back or replaced")
            if not 0 <= row < len(self._columns):
                raise LookupError(f"there is no rollout {row}; there are {len(self._columns)}")
            offset, length = self._columns.offset[row], self._columns.length[row]
        with self.path.open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def _follow(self) -> None:
        while not self._stop.is_set():
            self.refresh()
            self._stop.wait(PAUSE)

    def _read(self, file: BinaryIO) -> None:
        status = os.fstat(file.fileno())
        identity = (status.st_dev, status.st_ino)
        if identity != self._identity or self._changed(file, status.st_size):
            self._forget(identity)
        position = self._progress.done
        file.seek(position)
        torn = False
        while not self._stop.is_set() and not torn:
            position, torn, ended = self._batch(file, position)
            if ended:
                break

    def _changed(self, file: BinaryIO, size: int) -> bool:
        """Whether what was read is no longer there: a run that goes on cuts its files back, and writes on."""
        done = self._progress.done
        file.seek(max(done - len(self._tail), 0))
        return size < done or file.read(len(self._tail)) != self._tail

    def _batch(self, file: BinaryIO, position: int) -> tuple[int, bool, bool]:
        """Read for a moment: the position reached, whether a torn line stands there, and whether it is the end."""
        found: list[tuple[Summary, bytes, int, int]] = []
        unreadable, torn, ended, tail = 0, False, False, self._tail
        until = time.monotonic() + BATCH_SECONDS
        while time.monotonic() < until:
            line = file.readline(MAX_LINE)
            if not line.endswith(b"\n"):
                length = _rest(file, len(line)) if len(line) == MAX_LINE else 0
                if not length:
                    torn, ended = bool(line), True
                    break
                unreadable, position, tail = unreadable + 1, position + length, b""
                continue
            summary = summary_of(line)
            if summary is None:
                unreadable += bool(line.strip())
            else:
                found.append((summary, line[: 1 << 16], position, len(line)))
            position += len(line)
            tail = line[-TAIL:]
        self._tail = tail
        self._publish(found, position, os.fstat(file.fileno()).st_size, unreadable, torn=torn)
        return position, torn, ended

    def _publish(
        self, found: list[tuple[Summary, bytes, int, int]], done: int, size: int, unreadable: int, *, torn: bool
    ) -> None:
        with self._lock:
            for summary, beginning, offset, length in found:
                if self._columns.begins_group(summary):
                    self._columns.begin_group(summary, opening_of(beginning))
                self._columns.add(summary, offset, length)
            before = self._progress
            self._progress = Progress(before.generation, done, size, before.unreadable + unreadable, torn)

    def _forget(self, identity: tuple[int, int]) -> None:
        with self._lock:
            anew = self._progress.done > 0
            self._identity = identity
            self._tail = b""
            self._columns = Columns()
            self._progress = Progress(self._progress.generation + anew, 0, 0, 0, torn=False)


def _rest(file: BinaryIO, length: int) -> int:
    """Pass over the rest of a line of which `length` bytes are read; its whole length, 0 where it does not end."""
    while True:
        more = file.readline(MAX_LINE)
        length += len(more)
        if more.endswith(b"\n"):
            return length
        if not more:
            return 0
