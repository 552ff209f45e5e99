"""Writes the files of the instances format, complete but for what only a user knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from string import Template

from agentic_rl.config.writing import make_folder, open_new
from agentic_rl.projects.folder import new_project
from agentic_rl.projects.quoting import quoted

FILES = Path(__file__).with_name("files")
LOGS = "logs"


def write(folder: Path, seed: int) -> list[Path]:
    """Write the project into `folder`; see `projects.create`."""
    with new_project(folder) as (staging, target):
        make_folder(staging / LOGS)
        for name, text in templates():
            make_folder((staging / name).parent)
            with open_new(staging / name) as file:
                file.write(_filled_in(name, text, target, seed).encode())
    return sorted(path for path in target.rglob("*") if path.is_file())


def templates() -> Iterator[tuple[str, str]]:
    """Path below the project, and text, of every file."""
    for path in sorted(FILES.rglob("*")):
        if path.is_file():
            yield path.relative_to(FILES).as_posix(), path.read_text("utf-8")


def _filled_in(name: str, text: str, target: Path, seed: int) -> str:
    """Of YAML files and the README; in a script `$` is the shell's."""
    if name.endswith(".sh"):
        return text
    return Template(text).safe_substitute(logs=quoted(target / LOGS), root=quoted(target), seed=seed)
