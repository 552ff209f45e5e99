"""The run of verl that a configuration describes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentic_rl.backends.verl.flat_run import FlatRun
from agentic_rl.backends.verl.run import VerlRun
from agentic_rl.config.verl_native.installation import Installation

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


def run_of(loaded: Loaded, installation: Installation) -> VerlRun:
    """The run of `loaded`.

    Raises:
        ConfigError: the file has an error.
    """
    return FlatRun(loaded, installation)
