"""What every backend leaves in a run's folder for people to read, and the lock that gives it to one process."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import platform
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from agentic_rl._version import __version__
from agentic_rl.backends.errors import RunFolderBusyError
from agentic_rl.config.resolved import to_yaml
from agentic_rl.config.writing import make_folder, open_append, replace_file
from agentic_rl.tracking import LineFile

METRICS, TRAJECTORIES, CURVE, CONFIG, VERSIONS, EVALUATION = (
    "metrics.jsonl",
    "trajectories.jsonl",
    "learning_curve.png",
    "config.resolved.yaml",
    "versions.json",
    "evaluation.json",
)
LOCK, TENSORBOARD = ".lock", "tensorboard"


def run_path(project: str, experiment: str) -> Path:
    """`checkpoints/<project>/<experiment>` below the current folder."""
    return Path.cwd() / "checkpoints" / project / experiment


class RunFolder:
    """The folder of one run, held by this process."""

    packages: Iterable[str] = ()
    """Whose versions can change a run's numbers or files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metrics = LineFile(path / METRICS)

    def describe(self, configuration: Mapping[str, Any]) -> None:
        """Write the resolved configuration and the versions."""
        self.write(CONFIG, to_yaml(configuration))
        self.write(VERSIONS, json.dumps(versions(self.packages), indent=1) + "\n")

    def write(self, name: str, text: str) -> Path:
        """Write a small text file as a whole."""
        with replace_file(self.path / name) as file:
            file.write(text.encode())
        return self.path / name

    def write_lines(self, name: str, records: Sequence[Mapping[str, Any]]) -> Path:
        """Write a file of JSON lines as a whole."""
        return self.write(name, "".join(json.dumps(record) + "\n" for record in records))

    def close(self) -> None:
        """Close the growing file."""
        self.metrics.close()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Make the folder where it is missing, and hold it alone.

    Raises:
        RunFolderBusyError: another process holds it.
    """
    make_folder(path)
    with open_append(path / LOCK) as lock:
        _lock(lock.fileno(), path)
        yield


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


def versions(packages: Iterable[str]) -> dict[str, Any]:
    """This program, Python, the system and `packages`."""
    return {
        "agentic_rl": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "packages": {name: _version(name) for name in packages},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
