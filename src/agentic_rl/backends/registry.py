"""Which trainer belongs to a configuration: the entry points of the group `agentic_rl.backends`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from agentic_rl.backends.base import Trainer
from agentic_rl.backends.unavailable import UnavailableTrainer

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded

GROUP = "agentic_rl.backends"


def available() -> dict[str, EntryPoint]:
    """The backends of this installation by name."""
    return {point.name: point for point in entry_points(group=GROUP)}


def trainer_for(loaded: Loaded) -> Trainer:
    """The trainer of the configuration's `train_backend`.

    A documented backend that is not installed gives a trainer whose `check` has the finding ARL501.

    Raises:
        ConfigError: the configuration has a finding of severity error.
    """
    name = loaded.require().train_backend
    point = available().get(name)
    if point is None:
        return UnavailableTrainer(loaded, sorted(available()))
    trainer: type[Trainer] = point.load()
    return trainer(loaded)
