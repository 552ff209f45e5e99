"""Which trainer belongs to a configuration: the entry points of the group `agentic_rl.backends`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from agentic_rl.backends.base import Trainer
from agentic_rl.backends.findings import BACKEND_UNAVAILABLE, finding
from agentic_rl.backends.unavailable import UnavailableTrainer
from agentic_rl.config.diagnostics import Finding

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
        return UnavailableTrainer(loaded, name, _not_installed(name, sorted(available())))
    trainer: type[Trainer] = point.load()
    return trainer(loaded)


def _not_installed(name: str, installed: Sequence[str]) -> Finding:
    if not installed:
        message = "no backend is installed: this copy of the package runs without having been installed itself"
        return finding(BACKEND_UNAVAILABLE, "train_backend", message, "python -m pip install 'agentic-rl[local]'")
    return finding(
        BACKEND_UNAVAILABLE,
        "train_backend",
        f"{name} can be checked but not trained with in this version; installed backends: {', '.join(installed)}",
        "train_backend: local, with a section local: (it takes the keys of verl:)",
    )
