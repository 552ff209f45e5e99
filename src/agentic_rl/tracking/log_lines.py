"""Warnings that modules log, shown where the progress is shown instead of across it."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator

from agentic_rl.tracking.base import Tracker

ROOT = "agentic_rl"


class _Notes(logging.Handler):
    def __init__(self, tracker: Tracker) -> None:
        super().__init__(logging.WARNING)
        self._tracker = tracker

    def emit(self, record: logging.LogRecord) -> None:
        self._tracker.note(f"{record.levelname.lower()}: {record.getMessage()}")


@contextlib.contextmanager
def log_lines_to(tracker: Tracker) -> Iterator[None]:
    """Hand this program's log lines of level warning and above to `tracker` as notes."""
    handler, logger = _Notes(tracker), logging.getLogger(ROOT)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
