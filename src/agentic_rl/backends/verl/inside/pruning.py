"""Which of verl's checkpoints stay, and how the newest one is named."""

from __future__ import annotations

import shutil
from pathlib import Path

from agentic_rl.backends.verl.checkpoints import POINTER, STEP_FOLDER
from agentic_rl.config.writing import replace_file


def point_to(folder: Path, step: int) -> None:
    """Name the newest checkpoint for verl, all at once: a process killed meanwhile leaves the earlier name.

    Raises:
        OSError: the file can't be written.
    """
    with replace_file(folder / POINTER) as file:
        file.write(str(step).encode())


def prune(folder: Path, step: int, keep: int) -> list[Path]:
    """Remove older checkpoints than that of `step`, which is whole, so that at most `keep` remain.

    verl's own limit removes the older one before the new one is whole. Folders of later steps, which a resumed run
    has still to reach, are left alone.

    Returns:
        What was removed, the oldest first.

    Raises:
        OSError: a folder can't be removed.
    """
    steps = {int(match[1]): path for path in folder.iterdir() if (match := STEP_FOLDER.fullmatch(path.name))}
    older = sorted(one for one in steps if one < step)
    surplus = [steps[one] for one in older[: max(len(older) - keep + 1, 0)]]
    for path in surplus:
        shutil.rmtree(path)
    return surplus
