"""Complete projects to start from: `agentic-rl init NAME DIR`."""

from __future__ import annotations

from pathlib import Path

from agentic_rl.projects.folder import ProjectError
from agentic_rl.projects.quickstart.project import write as write_quickstart

_WRITERS = {"quickstart": write_quickstart}
NAMES = tuple(_WRITERS)
"""The projects there are."""

__all__ = ["NAMES", "ProjectError", "create"]


def create(name: str, folder: Path, *, seed: int = 0) -> list[Path]:
    """Write the project `name` into `folder`, which is made where it is missing; folders 750, files 640.

    Args:
        name: One of `NAMES`.
        folder: A new or an empty folder.
        seed: Seeds the model's weights and the data; the configuration gets it, too. Equal seeds give equal files.

    Returns:
        The files written.

    Raises:
        ProjectError: no such project, the folder holds something or can't be written, or a package is missing.
    """
    if name not in _WRITERS:
        raise ProjectError(f"no project is called {name!r}; there is: {', '.join(NAMES)}")
    return _WRITERS[name](folder, seed)
