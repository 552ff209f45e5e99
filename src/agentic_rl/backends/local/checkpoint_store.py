"""The checkpoints of one run as folders `global_step_N`: which are whole, and writing one atomically. No torch here.

A checkpoint is written into a hidden folder, brought to the disk, and renamed. A process that is killed at any
moment leaves either the old state or the new one; hidden leftovers are removed at the next start.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentic_rl.backends.disk import remedy
from agentic_rl.backends.errors import SaveError
from agentic_rl.config.manifest import NAME, Manifest, TornCheckpointError, lacking, whole
from agentic_rl.config.writing import make_folder, rename_folder_into_place, replace_file

POINTER = "latest_checkpointed_iteration.txt"
"""verl's file: the number of the newest checkpoint."""
SAVING, REMOVING = ".saving_", ".removing_"
UNFINISHED_FILE = re.compile(r"\.[0-9a-f]{16}\.tmp")
"""What `config.writing.replace_file` leaves when the process is killed in it."""
STEP_FOLDER = re.compile(r"global_step_(\d+)")

EVERYTHING = ("model", "optimizer", "extra")


def resumable(content: Sequence[str]) -> bool:
    """Whether a run can go on from a checkpoint with these items of `ckpt_content`."""
    return not lacking(content)


@dataclass(frozen=True)
class Checkpoint:
    """A whole checkpoint."""

    path: Path
    manifest: Manifest

    @property
    def step(self) -> int:
        """The training step after which it was written; 0: after the warm-up."""
        return self.manifest.step


class CheckpointStore:
    """The checkpoints below a run's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, step: int) -> Path:
        """Where the checkpoint of `step` belongs."""
        return self.folder / f"global_step_{step}"

    def steps(self) -> list[int]:
        """The steps that have a folder, whole or torn, or a link in its place, in ascending order."""
        names = (
            STEP_FOLDER.fullmatch(entry.name) for entry in self.folder.iterdir() if entry.is_dir() or entry.is_symlink()
        )
        return sorted(int(match[1]) for match in names if match)

    def newest(self, warn: Callable[[str], None]) -> Checkpoint | None:
        """The newest whole checkpoint; `warn` is told of every torn one that is skipped."""
        found = (self._whole_or_none(step, warn) for step in reversed(self.steps()))
        return next((checkpoint for checkpoint in found if checkpoint is not None), None)

    def _whole_or_none(self, step: int, warn: Callable[[str], None]) -> Checkpoint | None:
        try:
            return self.whole(step)
        except TornCheckpointError as error:
            warn(f"warning: skipping the torn checkpoint {self.path(step)}: {error}")
            return None

    def whole(self, step: int) -> Checkpoint:
        """The checkpoint of `step`, compared with its manifest.

        Raises:
            TornCheckpointError: it is not what was written, can't be read, or is a symbolic link.
        """
        return Checkpoint(self.path(step), whole(self.path(step), step))

    def remove_leftovers(self) -> None:
        """Remove what killed processes left behind half written or half removed."""
        for entry in self.folder.iterdir():
            if entry.name.startswith((SAVING, REMOVING)):
                shutil.rmtree(entry)
            elif UNFINISHED_FILE.fullmatch(entry.name):
                entry.unlink()

    def write(self, step: int, content: list[str], fill: Callable[[Path], None]) -> Checkpoint:
        """Write the checkpoint of `step`: `fill` puts the files into the folder that it is given.

        Raises:
            SaveError: the disk is full or failing; the older checkpoints are untouched.
        """
        saving = self.folder / f"{SAVING}{step}"
        with _save_errors(saving):
            make_folder(saving)
            fill(saving)
            manifest = Manifest.of(saving, step, content)
            (saving / NAME).write_text(manifest.to_json(), encoding="utf-8")
            self._discard(step)
            rename_folder_into_place(saving, self.path(step))
            with replace_file(self.folder / POINTER) as pointer:
                pointer.write(f"{step}".encode())
        return Checkpoint(self.path(step), manifest)

    def keep_newest(self, count: int, upto: int) -> None:
        """Keep the newest `count` of the checkpoints up to step `upto`, which is whole, and remove the older ones.

        Later ones are torn (the run would have gone on from them otherwise): they don't count, nor do links.
        """
        own = [step for step in self.steps() if not self.path(step).is_symlink()]
        for step in [step for step in own if step <= upto][:-count]:
            self._discard(step)

    def _discard(self, step: int) -> None:
        """Remove a checkpoint; a process killed meanwhile leaves no half one under its name."""
        if self.path(step).is_symlink():
            self.path(step).unlink()
        elif self.path(step).exists():
            removing = self.folder / f"{REMOVING}{step}"
            self.path(step).rename(removing)
            shutil.rmtree(removing)


@contextlib.contextmanager
def _save_errors(saving: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        shutil.rmtree(saving, ignore_errors=True)
        reason = error.strerror or str(error)
        raise SaveError(
            f"the checkpoint can't be written below {saving.parent}: {reason}; the earlier checkpoints are whole",
            f"{remedy(error)}, then start again",
        ) from error
