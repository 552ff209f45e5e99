"""The folder of a new project: filled as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agentic_rl.config.secure_paths import check_path, fix_permissions
from agentic_rl.config.writing import make_folder

_SHOWN = 5
"""Entries of a folder that is not empty which the message names."""


class ProjectError(Exception):
    """A project can't be written; the message says why and what to do."""


@contextmanager
def new_project(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Give the place to write a project to, and the absolute path that it will have.

    When the block ends without an exception, what stands there moves into `folder`, with the modes 750 and 640; after
    an exception nothing is left of it.

    Raises:
        ProjectError: `folder` is not a folder, is not empty, can't be written, or has a path that training refuses.
    """
    target = Path(os.path.abspath(folder))  # noqa: PTH100 - a link in the path stays as the user wrote it
    is_new = not os.path.lexists(target)
    _refuse_occupied(target)
    staging = target / ".new"
    try:
        make_folder(staging)
        yield staging, target
        for entry in list(staging.iterdir()):
            entry.rename(target / entry.name)
        staging.rmdir()
        fix_permissions([str(target)])
        _refuse_unusable(target)
    except BaseException as error:
        shutil.rmtree(target if is_new else staging, ignore_errors=True)
        if isinstance(error, OSError):
            raise ProjectError(f"{error.filename or target}: {error.strerror}; choose another folder") from error
        raise


def _refuse_unusable(target: Path) -> None:
    """Training checks every path that it is given: a project that it would refuse must not be left behind."""
    for finding in check_path(str(target), "", "folder").findings:
        if finding.severity == "error":
            raise ProjectError(f"{finding.message}; choose another folder")


def _refuse_occupied(target: Path) -> None:
    try:
        names = sorted(entry.name for entry in target.iterdir())
    except FileNotFoundError:
        return
    except OSError as error:
        raise ProjectError(f"{target}: {error.strerror}; name a new or an empty folder") from error
    if names:
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        raise ProjectError(
            f"{target} is not empty: it holds {', '.join(names[:_SHOWN])}{more}, and nothing is overwritten; "
            "name a new or an empty folder"
        )
