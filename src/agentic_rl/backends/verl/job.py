"""From a checked configuration to a job: where it begins, its environment, what our classes inside verl need."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from agentic_rl.backends.agent_environment import variables_of
from agentic_rl.backends.verl.agent_loop_file import entries
from agentic_rl.backends.verl.checkpoints import Checkpoint
from agentic_rl.backends.verl.data_agents import agents_of_data
from agentic_rl.backends.verl.demand import demand_of
from agentic_rl.backends.verl.environment import environment
from agentic_rl.backends.verl.folder import AGENT_LOOPS, NATIVE, VerlRunFolder
from agentic_rl.backends.verl.inside.job import JobOptions
from agentic_rl.backends.verl.launch import Job
from agentic_rl.backends.verl.run import VerlRun
from agentic_rl.config.writing import make_folder


def total_steps(run: VerlRun, native: Mapping[str, Any]) -> int | None:
    """The steps of the whole run as verl counts them; None where the rows of the data are not known."""
    rows = run.train_rows
    if rows is None:
        return None
    possible: int = rows // native["data"]["train_batch_size"] * native["trainer"]["total_epochs"]
    return min(possible, native["trainer"]["total_training_steps"] or possible)


def evaluates_only(native: Mapping[str, Any]) -> bool:
    """Whether nothing is trained."""
    return bool(native["trainer"]["val_only"])


def resuming(native: Mapping[str, Any], checkpoint: Checkpoint | None) -> dict[str, Any]:
    """The native configuration that begins at `checkpoint`, which verl then does not look for itself."""
    changed = copy.deepcopy(dict(native))
    trainer = changed["trainer"]
    trainer["resume_mode"] = "resume_path" if checkpoint else "disable"
    trainer["resume_from_path"] = str(checkpoint.path) if checkpoint else None
    return changed


def evaluating(native: Mapping[str, Any]) -> dict[str, Any]:
    """The native configuration that evaluates and does not train."""
    changed = copy.deepcopy(dict(native))
    changed["trainer"] |= {"val_only": True, "val_before_train": True}
    return changed


def prepared(run: VerlRun, native: Mapping[str, Any], folder: VerlRunFolder) -> Job:
    """The job of `native`; what verl reads from files is written into the run's folder."""
    native = _reporting(native)
    trainer, limits = native["trainer"], run.limits
    device = trainer["device"]
    named = [name for names in agents_of_data(run).values() for name in names]
    settings = run.rollouts(native["actor_rollout_ref"]["rollout"]["agent"]["num_workers"])
    if limits.trajectories:
        make_folder(Path(limits.trajectories).parent)
    folder.write(AGENT_LOOPS, yaml.safe_dump(entries(settings, named), sort_keys=False))
    folder.write(NATIVE, yaml.safe_dump(dict(native), sort_keys=False))
    folder.describe(run.record())
    return Job(
        native=native,
        options=JobOptions(
            max_failed_fraction=limits.max_failed_fraction,
            keep_checkpoints=limits.keep_checkpoints,
            stepwise=limits.stepwise,
            stop_file=str(folder.own.stop),
            events=str(folder.own.events),
            trajectories=limits.trajectories,
        ),
        demand=demand_of(native),
        environment=environment(device, os.environ, folder.path, variables_of(run.loaded, os.environ)),
        folder=folder.path,
        start_limit=limits.start_limit,
    )


def _reporting(native: Mapping[str, Any]) -> dict[str, Any]:
    """Let verl write what it measures into a file as well, which this process reads."""
    changed = copy.deepcopy(dict(native))
    loggers = changed["trainer"]["logger"]
    changed["trainer"]["logger"] = list(dict.fromkeys([*loggers, "file"]))
    return changed
