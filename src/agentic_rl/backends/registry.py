"""Which trainer belongs to a configuration: the entry points of the group `agentic_rl.backends`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from agentic_rl.backends.base import Plan, Trainer, TrainResult
from agentic_rl.backends.errors import BackendUnavailableError
from agentic_rl.backends.findings import BACKEND_UNAVAILABLE, finding
from agentic_rl.config.diagnostics import Finding, Report
from agentic_rl.config.memory import estimate, why_no_estimate

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
        return UnavailableTrainer(loaded)
    trainer: type[Trainer] = point.load()
    return trainer(loaded)


class UnavailableTrainer(Trainer):
    """Stands for a backend that is documented but not part of this installation."""

    def check(self) -> Report:
        """One finding: the backend can't train here."""
        return Report([self._finding()])

    def plan(self) -> Plan:
        """What is known without the backend: devices, files, memory; and that nothing can be done here."""
        missing, loaded = self._finding(), self.loaded
        known = {**loaded.values, **loaded.facts}
        return Plan(
            self._name(),
            [f"nothing: {missing.message}; {missing.hint}"],
            devices=[_devices(loaded)],
            memory=estimate(known),
            no_memory=why_no_estimate(known),
            reads=[checked.path for checked in loaded.checked.values()],
        )

    def fit(self) -> TrainResult:
        """Raises: BackendUnavailableError, always."""
        raise self._error()

    def evaluate(self) -> dict[str, float]:
        """Raises: BackendUnavailableError, always."""
        raise self._error()

    def _name(self) -> str:
        return self.loaded.require().train_backend

    def _finding(self) -> Finding:
        names = ", ".join(sorted(available()))
        if not names:
            message = "no backend is installed: this copy of the package runs without having been installed itself"
            return finding(BACKEND_UNAVAILABLE, "train_backend", message, "python -m pip install 'agentic-rl[local]'")
        return finding(
            BACKEND_UNAVAILABLE,
            "train_backend",
            f"{self._name()} can be checked but not trained with in this version; installed backends: {names}",
            "train_backend: local, with a section local: (it takes the keys of verl:)",
        )

    def _error(self) -> BackendUnavailableError:
        missing = self._finding()
        return BackendUnavailableError(f"train_backend: {missing.message}", missing.hint)


def _devices(loaded: Loaded) -> str:
    nodes = loaded.values["verl.nnodes" if loaded.values["train_backend"] == "verl" else "num_node"]
    return f"{loaded.values['num_gpus_per_node']} on each of {nodes} node{'s' * (nodes > 1)}"
