"""The run of verl that a configuration describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic_rl.backends.verl.flat_run import FlatRun
from agentic_rl.backends.verl.run import VerlRun
from agentic_rl.config.verl_native.installation import Installation

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


def run_of(loaded: Loaded, installation: Installation, instance: str | None = None) -> VerlRun:
    """The run of `loaded`; `instance` is the train instance that trains, in a format that has several.

    Raises:
        ConfigError: the file has an error.
        InstanceError: it is not clear which instance trains.
    """
    if loaded.format != "aura":
        return FlatRun(loaded, installation)
    from agentic_rl.backends.verl.instances.run import InstancesRun

    return InstancesRun(loaded, installation, instance)
