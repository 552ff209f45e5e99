"""verl's checkpoints below a run's folder: which one a run goes on from. Nothing is loaded here."""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

POINTER = "latest_checkpointed_iteration.txt"
"""verl's file: the number of the newest checkpoint, written after all of it."""
DATA_ORDER = "data.pt"
STEP = re.compile(r"[0-9]{1,18}")
STEP_FOLDER = re.compile(rf"global_step_({STEP.pattern})")
MODEL_OF_RANK = re.compile(r"model_world_size_([1-9][0-9]{0,6})_rank_([0-9]{1,7})\.pt")


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint."""

    step: int
    path: Path


def newest(folder: Path) -> Checkpoint | None:
    """The checkpoint that a run in `folder` goes on from; None where it begins.

    It is the one that the pointer names. A process killed while it writes the pointer leaves it empty, and verl then
    does not start at all: in that case it is the newest folder that is whole.
    """
    pointed = _pointed(folder)
    if pointed is not None:
        found = Checkpoint(pointed, folder / f"global_step_{pointed}")
        if found.path.is_dir():
            return found
    elif not (folder / POINTER).exists():
        return None  # no save has been finished
    whole = [checkpoint for checkpoint in _all(folder) if is_whole(checkpoint.path)]
    return max(whole, key=lambda checkpoint: checkpoint.step, default=None)


def is_whole(path: Path) -> bool:
    """Whether every rank's model and the order of the data are there, and the last file was written to its end."""
    ranks = [match for match in map(MODEL_OF_RANK.fullmatch, _names(path / "actor")) if match]
    sizes = {int(match[1]) for match in ranks}
    if len(sizes) != 1 or sorted(int(match[2]) for match in ranks) != list(range(min(sizes.pop(), len(ranks) + 1))):
        return False
    return (path / DATA_ORDER).is_file() and zipfile.is_zipfile(path / DATA_ORDER)


def _all(folder: Path) -> list[Checkpoint]:
    found = (STEP_FOLDER.fullmatch(name) for name in _names(folder))
    return [Checkpoint(int(match[1]), folder / match[0]) for match in found if match]


def _pointed(folder: Path) -> int | None:
    try:
        text = (folder / POINTER).read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None
    return int(text) if STEP.fullmatch(text) else None


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
