"""From a checked configuration to a job: where it begins, its environment, what our classes inside verl need."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import yaml

from agentic_rl.backends.agent_environment import variables_of
from agentic_rl.backends.verl.checkpoints import Checkpoint
from agentic_rl.backends.verl.cluster import Demand
from agentic_rl.backends.verl.data_agents import agents_of_data
from agentic_rl.backends.verl.environment import environment
from agentic_rl.backends.verl.folder import AGENT_LOOPS, NATIVE, VerlRunFolder
from agentic_rl.backends.verl.inside.job import JobOptions
from agentic_rl.backends.verl.launch import Job
from agentic_rl.backends.verl.mapping import verl_section
from agentic_rl.backends.verl.rendering import agent_loops

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


def total_steps(loaded: Loaded) -> int | None:
    """The steps of the whole run as verl counts them; None where the rows of the data are not known."""
    section = loaded.require().verl
    rows = loaded.facts.get("@train.rows")
    if section is None or rows is None:
        return None
    possible: int = rows // section.train_batch_size * section.total_epochs
    return min(possible, section.total_training_steps or possible)


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


def prepared(loaded: Loaded, native: Mapping[str, Any], folder: VerlRunFolder) -> Job:
    """The job of `native`; what verl reads from files is written into the run's folder."""
    config = loaded.require()
    section = verl_section(config)
    native = _reporting(native)
    device = native["trainer"]["device"]
    named = [name for names in agents_of_data(loaded).values() for name in names]
    folder.write(AGENT_LOOPS, yaml.safe_dump(agent_loops(config, named), sort_keys=False))
    folder.write(NATIVE, yaml.safe_dump(dict(native), sort_keys=False))
    folder.describe(config.model_dump(mode="json", exclude_none=True, exclude={"local", "mindspeed_rl"}))
    return Job(
        native=native,
        options=JobOptions(
            max_failed_fraction=config.max_failed_fraction,
            keep_checkpoints=config.keep_checkpoints,
            stepwise=config.use_stepwise_advantage,
            stop_file=str(folder.own.stop),
            events=str(folder.own.events),
        ),
        demand=Demand(device, config.num_gpus_per_node, section.nnodes),
        environment=environment(device, os.environ, folder.path, variables_of(loaded, os.environ)),
        folder=folder.path,
        start_limit=section.startup_timeout,
    )


def _reporting(native: Mapping[str, Any]) -> dict[str, Any]:
    """Let verl write what it measures into a file as well, which this process reads."""
    changed = copy.deepcopy(dict(native))
    loggers = changed["trainer"]["logger"]
    changed["trainer"]["logger"] = list(dict.fromkeys([*loggers, "file"]))
    return changed
