"""Emptying a run's folder before its first start: what checkpoints and runs consist of, and nothing else."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path

from agentic_rl.backends.errors import TrainingError
from agentic_rl.backends.run_folder import LOCK, locked
from agentic_rl.cluster.status import FOLDER

_CHECKPOINTS = r"global_step_\d+|iter_\d+|release"
_TRACKERS = r"latest_checkpointed_iteration\.txt|latest_wandb_run_id\.txt"
_RUN = (
    r"metrics\.jsonl|trajectories\.jsonl|learning_curve\.png|config\.resolved\.yaml|versions\.json|evaluation\.json|"
    r"failed_batch\.jsonl|tensorboard|\.saving_\d+|\.removing_\d+|\.[0-9a-f]{16}\.tmp"
)
_VERL = r"verl\.(metrics|events)\.jsonl|verl\.config\.yaml|agent_loops\.yaml|ray_logs|\.stop|\.processes"
OURS = re.compile("|".join((_CHECKPOINTS, _TRACKERS, _RUN, _VERL)))
"""Names of what may be removed."""
KEPT = (LOCK, FOLDER)
"""Held by this process, and the status of nodes that may be up already."""


class UncleanError(TrainingError):
    """A run's folder can't be emptied."""


def run_folder(root: Path, project: str, experiment: str) -> Path:
    """`<root>/<project>/<experiment>`, where it is really that and no link elsewhere.

    Raises:
        UncleanError: a name leads out of its folder, or a link does.
    """
    path = root / project / experiment
    names = (project, experiment)
    if any(name in ("", ".", "..") or "/" in name or "\0" in name for name in names):
        raise UncleanError(
            f"project_name {project!r} and experiment_name {experiment!r} are no two folder names; "
            "only <root>/<project>/<experiment> is ever emptied",
            "choose names without / that are neither . nor .., or clean_old_ckpt=0",
        )
    if path.resolve() != root.resolve() / project / experiment:
        raise UncleanError(
            f"{path} is a link to {path.resolve()}; only <root>/<project>/<experiment> itself is ever emptied",
            "clean_old_ckpt=0, or put a folder there",
        )
    return path


def clean(run: Path) -> list[str]:
    """Remove all of an earlier run from its folder; the names of what was removed.

    Raises:
        UncleanError: something else lies there, and nothing was removed; or it can't be removed.
        RunFolderBusyError: a process is training there.
    """
    if not run.is_dir():
        return []
    with locked(run):
        names = sorted(entry.name for entry in run.iterdir() if entry.name not in KEPT)
        strangers = [name for name in names if not OURS.fullmatch(name)]
        if strangers:
            shown = ", ".join(strangers[:10]) + (f" and {len(strangers) - 10} more" if len(strangers) > 10 else "")
            raise UncleanError(
                f"clean_old_ckpt empties {run}, but there lies what no run wrote: {shown}; nothing was removed",
                "move it elsewhere, or clean_old_ckpt=0",
            )
        for name in _checkpoints_last(names):
            _remove(run / name)
    return names


def _checkpoints_last(names: list[str]) -> list[str]:
    """The pointer to the newest checkpoint first: what is left when this is interrupted is never taken for whole."""
    return sorted(names, key=lambda name: (re.fullmatch(_TRACKERS, name) is None, name))


def _remove(path: Path) -> None:
    try:
        if path.is_symlink() or not path.is_dir():
            path.unlink()
        else:
            shutil.rmtree(path)
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):
            path.lstat()
            raise UncleanError(
                f"{error.filename or path} can't be removed: {error.strerror}", "check its owner and mode"
            ) from error
