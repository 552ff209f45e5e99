"""Direct mode: every entrypoint is a job of its own, all at the same time."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentic_rl.backends.errors import TrainingError
from agentic_rl.cluster.children import Command, Ended, binary_output, run_all

if TYPE_CHECKING:
    from agentic_rl.config.aura.schema import AuraConfig
    from agentic_rl.config.load import Loaded

ENTRYPOINT, PROGRAM = "agentic_rl.cluster.entrypoint", "agentic_rl"
"""Modules that are run: for a job, and for the service."""
SERVICE = "service"
INTERRUPTED = 130
_STOPPED = (INTERRUPTED, 128 + 15, 128 + 1)
"""Statuses of a job that was asked to stop: its own, and those of SIGTERM and SIGHUP."""


def run_direct(loaded: Loaded, overrides: Sequence[str] = ()) -> int:
    """Run the entrypoints of `direct_conf`; the exit status for the whole.

    Each is a process of its own with a log in `agentic_ai.log_dir`. A signal that we get is passed on to all. In the
    mode `direct_with_serve` the service runs beside them, until the last has ended.

    Args:
        loaded: A checked configuration of the instances format, read from a file.
        overrides: Those that it was loaded with.

    Returns:
        0 where every job finished, 130 where jobs were interrupted and none failed, otherwise 1.

    Raises:
        ConfigError: the configuration has a finding of severity error.
        TrainingError: there is nothing to run, or a log can't be written.
    """
    config = loaded.require_aura()
    commands = list(commands_of(config, loaded.document.file, overrides))
    services = list(_services(config, loaded.document.file, overrides))
    if not commands:
        raise TrainingError("direct_conf.entrypoints is empty: there is no job to run", "name a train instance in it")
    try:
        ended = run_all(commands, _say, binary_output(), beside=services)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise TrainingError(f"the jobs can't be run: {where}{error.strerror or error}") from error
    return _status(ended, services)


def commands_of(config: AuraConfig, file: str, overrides: Sequence[str] = ()) -> Iterator[Command]:
    """The command of each entrypoint. Names that make one file name have logs of their own."""
    level = config.agentic_ai.log_level
    taken: dict[str, int] = {}
    for entrypoint in config.direct_conf.entrypoints:
        name = entrypoint.job_name
        stem = re.sub(r"[^\w.-]", "_", name)
        taken[stem] = taken.get(stem, 0) + 1
        log = f"{stem}.log" if taken[stem] == 1 else f"{stem}-{taken[stem]}.log"
        arguments = [sys.executable, "-m", ENTRYPOINT, file, f"--instance={name}", *overrides]
        yield Command(name, arguments, Path(config.agentic_ai.log_dir) / log, _environment(level))


def _services(config: AuraConfig, file: str, overrides: Sequence[str]) -> Iterator[Command]:
    """With `direct_with_serve`: what offers the instances as long as the jobs run."""
    if config.agentic_ai.mode == "direct_with_serve":
        arguments = (sys.executable, "-m", PROGRAM, "--config-path", file)
        log = Path(config.agentic_ai.log_dir) / f"{SERVICE}-output.log"
        yield Command(SERVICE, (*arguments, *overrides, "agentic_ai.mode=serve"), log)


def _environment(level: str) -> dict[str, str]:
    """What gives the level to libraries that ask the environment; what is set there already holds."""
    names = ("VERL_LOGGING_LEVEL", "VLLM_LOGGING_LEVEL")
    return {name: os.environ.get(name, level) for name in names}


def _say(line: str) -> None:
    print(line, flush=True)


def _status(ended: Sequence[Ended], services: Sequence[Command]) -> int:
    """The exit status of all; a service that was stopped in the end did what it should."""
    statuses = {one.status for one in ended if one.command not in services or one.status not in _STOPPED}
    if statuses <= {0}:
        return 0
    return INTERRUPTED if statuses <= {0, *_STOPPED} else 1
