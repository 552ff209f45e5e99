"""The folder of a run: one process at a time, and everything that a run leaves for people to read."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from agentic_rl._version import __version__
from agentic_rl.backends.errors import RunFolderBusyError, SaveError, TrainingError
from agentic_rl.backends.local.checkpoint_store import CheckpointStore, remedy
from agentic_rl.config.writing import make_folder, open_append, replace_file
from agentic_rl.tracking import LineFile

METRICS, TRAJECTORIES = "metrics.jsonl", "trajectories.jsonl"
CURVE, CONFIG, VERSIONS, EVALUATION = (
    "learning_curve.png",
    "config.resolved.yaml",
    "versions.json",
    "evaluation.json",
)
LOCK, TENSORBOARD, FAILED_BATCH = ".lock", "tensorboard", "failed_batch.jsonl"
DISK_ERRORS = {
    errno.EACCES,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EIO,
    errno.ENOSPC,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EPERM,
    errno.EROFS,
}
"""What the system says when a folder can't be written or read."""
PACKAGES = ("torch", "transformers", "safetensors", "tokenizers", "numpy", "pyarrow", "pydantic")
"""Whose versions can change a run's numbers or files."""


def run_path(project: str, experiment: str) -> Path:
    """`checkpoints/<project>/<experiment>` below the current folder."""
    return Path.cwd() / "checkpoints" / project / experiment


class RunFolder:
    """The folder of one run, held by this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = CheckpointStore(path)
        self.metrics = LineFile(path / METRICS)
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

    def describe(self, configuration: Mapping[str, Any]) -> None:
        """Write the resolved configuration and the versions."""
        self.write(CONFIG, yaml.safe_dump(dict(configuration), sort_keys=False, allow_unicode=True))
        self.write(VERSIONS, json.dumps(versions(), indent=1) + "\n")

    def write(self, name: str, text: str) -> Path:
        """Write a small text file as a whole."""
        with replace_file(self.path / name) as file:
            file.write(text.encode())
        return self.path / name

    def write_lines(self, name: str, records: Sequence[Mapping[str, Any]]) -> Path:
        """Write a file of JSON lines as a whole."""
        return self.write(name, "".join(json.dumps(record) + "\n" for record in records))

    def close(self) -> None:
        """Close the two growing files."""
        self.metrics.close()
        self.trajectories.close()


@contextlib.contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Tell of a folder that can't be written or read as of any other expected failure, without a traceback."""
    try:
        yield
    except TrainingError:
        raise
    except OSError as error:
        if error.errno not in DISK_ERRORS:
            raise
        raise SaveError(
            f"{error.filename or path} can't be {_undone(error)}: {error.strerror}",
            f"{remedy(error)}; the same command then goes on",
        ) from error


def _undone(error: OSError) -> str:
    """What the system refused to do; it doesn't say so itself where either could be meant."""
    if error.errno == errno.EIO:
        return "read or written"
    refused = error.filename is not None and os.path.lexists(error.filename) and not os.access(error.filename, os.R_OK)
    return "read" if refused else "written"


@contextlib.contextmanager
def opened(path: Path) -> Iterator[RunFolder]:
    """The run's folder, made where it is missing, cleaned of what killed processes left, and locked.

    Raises:
        RunFolderBusyError: another process holds it.
    """
    make_folder(path)
    with open_append(path / LOCK) as lock:
        _lock(lock.fileno(), path)
        folder = RunFolder(path)
        try:
            folder.checkpoints.remove_leftovers()
            yield folder
        finally:
            folder.close()


def _lock(descriptor: int, path: Path) -> None:
    """Hold the lock as long as the descriptor is open; the system frees it when the process dies."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = (path / LOCK).read_text(encoding="ascii", errors="replace").strip() or "unknown"
        raise RunFolderBusyError(
            f"process {holder} is training in {path}; one folder takes one run at a time",
            "wait for it or stop it, or change project_name or experiment_name",
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())


def versions() -> dict[str, Any]:
    """This program, Python, the system and the packages that numbers depend on."""
    return {
        "agentic_rl": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
