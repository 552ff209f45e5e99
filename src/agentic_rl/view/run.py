"""Where the files of a run are, and what it is called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentic_rl.view.errors import ViewError

# As `backends.run_folder` and `backends.local.run_folder` name them, which would load half a second of other code.
METRICS, TRAJECTORIES, CONFIG, VERSIONS = (
    "metrics.jsonl",
    "trajectories.jsonl",
    "config.resolved.yaml",
    "versions.json",
)
DEPTH = 3
"""Levels below a folder that is no run in which runs are looked for: `checkpoints/<project>/<experiment>`."""
_SHOWN = 8


@dataclass(frozen=True)
class Run:
    """The files of one run; each may be missing, or still grow."""

    folder: Path
    trajectories: Path

    @property
    def title(self) -> str:
        """`<project>/<experiment>`, as the last two parts of the folder's path say it."""
        return "/".join(self.folder.parts[-2:])

    @property
    def metrics(self) -> Path:
        """The measurements of every step."""
        return self.folder / METRICS

    def text(self, name: str) -> str:
        """A small file of the folder; empty where there is none."""
        try:
            return (self.folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    @property
    def configuration(self) -> str:
        """The resolved configuration, in YAML."""
        return self.text(CONFIG)

    @property
    def versions(self) -> str:
        """The versions that it ran with, in JSON."""
        return self.text(VERSIONS)


def find_run(path: Path) -> Run:
    """The run at `path`: its folder, its file of trajectories, or a folder in which it is the only run.

    Raises:
        ViewError: there is none, or more than one.
    """
    if path.is_file():
        return Run(path.absolute().parent, path.absolute())
    if not path.is_dir():
        raise ViewError(f"{path} does not exist; give the folder of a run, checkpoints/PROJECT/EXPERIMENT")
    folders = sorted(_runs(path.absolute(), DEPTH))
    if not folders:
        raise ViewError(
            f"{path} has no {METRICS} and no {TRAJECTORIES}; give the folder of a run, checkpoints/PROJECT/EXPERIMENT"
        )
    if len(folders) > 1:
        listed = "".join(f"\n  {folder}" for folder in folders[:_SHOWN])
        more = f"\n  and {len(folders) - _SHOWN} more" if len(folders) > _SHOWN else ""
        raise ViewError(f"{path} has {len(folders)} runs; give one of them:{listed}{more}")
    return Run(folders[0], folders[0] / TRAJECTORIES)


def _runs(folder: Path, depth: int) -> Iterator[Path]:
    if any((folder / name).is_file() for name in (METRICS, TRAJECTORIES)):
        yield folder
    elif depth:
        for below in _folders(folder):
            yield from _runs(below, depth - 1)


def _folders(folder: Path) -> list[Path]:
    try:
        return [entry for entry in folder.iterdir() if entry.is_dir() and not entry.is_symlink()]
    except OSError:  # not ours to read
        return []
