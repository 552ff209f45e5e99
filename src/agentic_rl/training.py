"""The whole path in one call: file, checked configuration, trained agent."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.backends import TrainResult, trainer_for
from agentic_rl.config.load import load


def train(path: str | os.PathLike[str] | Mapping[str, Any], overrides: Sequence[str] = ()) -> TrainResult:
    """Read and check a configuration, then train with its backend, from the newest checkpoint where there is one.

    Args:
        path: A YAML file, or a mapping in its place.
        overrides: `key=value` each; they win over the environment, which wins over the file.

    Raises:
        ConfigError: with the report of everything that is wrong; nothing was started.
        agentic_rl.backends.errors.TrainingError: the job failed.
    """
    return trainer_for(load(path, overrides)).fit()
