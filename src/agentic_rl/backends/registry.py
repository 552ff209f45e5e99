"""Which trainer belongs to a configuration: the entry points of the group `agentic_rl.backends`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def trainer_for(loaded: Loaded, instance: str | None = None) -> Trainer:
    """The trainer of a configuration: of its `train_backend`, or of a train instance's `train_engine`.

    A documented backend that is not installed gives a trainer whose `check` has the finding ARL501.

    Args:
        loaded: the checked file.
        instance: the train instance that trains, in the instances format; None: the only one.

    Raises:
        ConfigError: the configuration has a finding of severity error.
        InstanceError: the instance is not there, or there are several and none was named.
    """
    if loaded.format == "aura":
        return _of_instance(loaded, instance)
    name = loaded.require_flat().train_backend
    point = available().get(name)
    if point is None:
        return UnavailableTrainer(loaded, name, _not_installed(name, sorted(available())))
    trainer: type[Trainer] = point.load()
    return trainer(loaded)


def trainers_of(loaded: Loaded) -> list[Trainer]:
    """The trainers of a configuration: one, or in the instances format one for each train instance.

    Raises:
        ConfigError: the configuration has a finding of severity error.
    """
    if loaded.format != "aura":
        return [trainer_for(loaded)]
    return [trainer_for(loaded, train.name) for train in loaded.require_aura().train_instances]


def _of_instance(loaded: Loaded, instance: str | None) -> Trainer:
    from agentic_rl.backends.verl.instances.parts import train_instance

    train, key = train_instance(loaded.require_aura(), instance)
    engine = train.executor_kwargs.train_engine
    point = available().get(engine)
    if point is None or engine != "verl":
        return UnavailableTrainer(loaded, engine, _no_engine(engine, f"{key}.executor_kwargs.train_engine"))
    trainer: Callable[[Loaded, str], Trainer] = point.load()
    return trainer(loaded, train.name)


def _no_engine(engine: str, key: str) -> Finding:
    if engine == "verl":
        message = "no backend is installed: this copy of the package runs without having been installed itself"
        return finding(BACKEND_UNAVAILABLE, key, message, "python -m pip install 'agentic-rl[verl]'")
    message = f"{engine} can be checked but not trained with in this version; of the format's engines verl trains"
    return finding(BACKEND_UNAVAILABLE, key, message, "train_engine: verl, with train_config: ${verl_conf}")


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
