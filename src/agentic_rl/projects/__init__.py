"""Complete projects to start from: `agentic-rl init NAME DIR`."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from agentic_rl.projects.folder import ProjectError

_MODULES = {
    "quickstart": "agentic_rl.projects.quickstart.project",
    "instances": "agentic_rl.projects.instances.project",
}
NAMES = tuple(_MODULES)
"""The projects there are."""

__all__ = ["NAMES", "ProjectError", "create", "next_step"]


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
    if name not in _MODULES:
        raise ProjectError(f"no project is called {name!r}; there is: {', '.join(NAMES)}")
    written: list[Path] = import_module(_MODULES[name]).write(folder, seed)
    return written


def next_step(name: str, folder: Path) -> str:
    """What to do with the project that was just written: a line, and the command below it."""
    if name == "instances":
        paths = "Write your paths into configs/train (they say /path/to), then check:"
        return f"{paths}\n  agentic-rl check {folder / 'configs'}"
    return f"Now train:\n  agentic-rl --config-path {folder / 'config.yaml'}"
