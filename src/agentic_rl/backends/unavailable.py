"""A backend that can't train here: what is known without it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentic_rl.backends.base import Plan, Trainer, TrainResult
from agentic_rl.backends.errors import BackendUnavailableError
from agentic_rl.backends.findings import BACKEND_UNAVAILABLE, finding
from agentic_rl.config.diagnostics import Finding, Report
from agentic_rl.config.memory import estimate, why_no_estimate

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


class UnavailableTrainer(Trainer):
    """Stands for a backend that is documented but not part of this installation."""

    def __init__(self, loaded: Loaded, installed: Sequence[str]) -> None:
        super().__init__(loaded)
        self._installed = installed

    def check(self) -> Report:
        """One finding: the backend can't train here."""
        return Report([self._finding()])

    def plan(self) -> Plan:
        """What is known without the backend: devices, files, memory; and that nothing can be done here."""
        return plan_without(self.loaded, self._finding())

    def fit(self) -> TrainResult:
        """Raises: BackendUnavailableError, always."""
        raise self._error()

    def evaluate(self) -> dict[str, float]:
        """Raises: BackendUnavailableError, always."""
        raise self._error()

    def _finding(self) -> Finding:
        names = ", ".join(self._installed)
        if not names:
            message = "no backend is installed: this copy of the package runs without having been installed itself"
            return finding(BACKEND_UNAVAILABLE, "train_backend", message, "python -m pip install 'agentic-rl[local]'")
        return finding(
            BACKEND_UNAVAILABLE,
            "train_backend",
            f"{self.loaded.require().train_backend} can be checked but not trained with in this version; "
            f"installed backends: {names}",
            "train_backend: local, with a section local: (it takes the keys of verl:)",
        )

    def _error(self) -> BackendUnavailableError:
        missing = self._finding()
        return BackendUnavailableError(f"train_backend: {missing.message}", missing.hint)


def plan_without(loaded: Loaded, missing: Finding) -> Plan:
    """The plan where `missing` keeps the backend from training: devices, files, memory; and that nothing is done."""
    known = {**loaded.values, **loaded.facts}
    return Plan(
        loaded.require().train_backend,
        [f"nothing: {missing.message}; {missing.hint}"],
        devices=[_devices(loaded)],
        memory=estimate(known),
        no_memory=why_no_estimate(known),
        reads=[checked.path for checked in loaded.checked.values()],
    )


def _devices(loaded: Loaded) -> str:
    nodes = loaded.values["verl.nnodes" if loaded.values["train_backend"] == "verl" else "num_node"]
    return f"{loaded.values['num_gpus_per_node']} on each of {nodes} node{'s' * (nodes > 1)}"
