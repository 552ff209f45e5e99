"""Measurements as TensorBoard events."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agentic_rl.config.writing import make_folder, open_append
from agentic_rl.tracking.base import Phase


class TensorBoardTracker:
    """Writes event files into `folder`: `tensorboard --logdir FOLDER` shows them."""

    def __init__(self, folder: Path, resumed_step: int) -> None:
        from torch.utils.tensorboard import SummaryWriter

        make_folder(folder)
        self._folder = folder
        # Steps after the checkpoint will be made again: TensorBoard hides what it holds of them.
        self._writer = SummaryWriter(str(folder), purge_step=resumed_step + 1)
        self._restrict()

    def begin(self, phase: Phase, total: int, done: int) -> None:
        """Phases are told apart by the names of their metrics."""

    def log(self, phase: Phase, step: int, metrics: Mapping[str, float]) -> None:
        """Add one point to each curve."""
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def note(self, text: str) -> None:
        """Notes are for people who watch the run, not for curves."""

    def close(self) -> None:
        """Write the events that are held back."""
        self._writer.close()
        self._restrict()

    def _restrict(self) -> None:
        """Give the event files, which TensorBoard opens itself, the mode of all our files."""
        for path in self._folder.iterdir():
            open_append(path).close()
