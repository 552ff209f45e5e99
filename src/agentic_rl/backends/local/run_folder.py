"""The run folder of the local backend: it also keeps every trajectory, and its files go back with a checkpoint."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from agentic_rl.backends.local.checkpoint_store import CheckpointStore
from agentic_rl.backends.run_folder import TRAJECTORIES, RunFolder, locked
from agentic_rl.tracking import LineFile

FAILED_BATCH = "failed_batch.jsonl"


class LocalRunFolder(RunFolder):
    """The folder of one local run."""

    packages = ("torch", "transformers", "safetensors", "tokenizers", "numpy", "pyarrow", "pydantic")

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.checkpoints = CheckpointStore(path)
        self.trajectories = LineFile(path / TRAJECTORIES)

    def lengths(self) -> dict[str, int]:
        """The lengths in bytes of the two growing files."""
        return {file.path.name: file.position for file in (self.metrics, self.trajectories)}

    def sync(self) -> None:
        """Bring the two growing files to the disk."""
        self.metrics.sync()
        self.trajectories.sync()

    def cut(self, lengths: Mapping[str, int]) -> list[str]:
        """Remove the lines after `lengths` (of files not named: all); the names of those that could not be cut."""
        files = (self.metrics, self.trajectories)
        return [file.path.name for file in files if not file.cut(lengths.get(file.path.name, 0))]

    def close(self) -> None:
        """Close the two growing files."""
        super().close()
        self.trajectories.close()


@contextlib.contextmanager
def opened(path: Path) -> Iterator[LocalRunFolder]:
    """The run's folder, made where it is missing, cleaned of what killed processes left, and locked.

    Raises:
        RunFolderBusyError: another process holds it.
    """
    with locked(path):
        folder = LocalRunFolder(path)
        try:
            folder.checkpoints.remove_leftovers()
            yield folder
        finally:
            folder.close()
