"""A backend that can't train here: what is known without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentic_rl.backends.base import Plan, Trainer, TrainResult
from agentic_rl.backends.errors import BackendUnavailableError
from agentic_rl.config.diagnostics import Finding, Report
from agentic_rl.config.memory import estimate, why_no_estimate

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


class UnavailableTrainer(Trainer):
    """Stands for a backend that is documented but can't train here.

    Args:
        loaded: the checked file.
        backend: its name.
        missing: says why, and what to do.
    """

    def __init__(self, loaded: Loaded, backend: str, missing: Finding) -> None:
        super().__init__(loaded)
        self._backend = backend
        self._missing = missing

    def check(self) -> Report:
        """One finding: the backend can't train here."""
        return Report([self._missing])

    def plan(self) -> Plan:
        """What is known without the backend: devices, files, memory; and that nothing can be done here."""
        return plan_without(self._backend, self.loaded, self._missing, {**self.loaded.values, **self.loaded.facts})

    def fit(self) -> TrainResult:
        """Raises: BackendUnavailableError, always."""
        raise self._error()

    def evaluate(self) -> dict[str, float]:
        """Raises: BackendUnavailableError, always."""
        raise self._error()

    def _error(self) -> BackendUnavailableError:
        return BackendUnavailableError(f"{self._missing.key}: {self._missing.message}", self._missing.hint)


def plan_without(backend: str, loaded: Loaded, missing: Finding, known: dict[str, Any]) -> Plan:
    """The plan where `missing` keeps the backend from training: devices, files, memory; and that nothing is done.

    `known` has values by the keys of the flat format, and what files tell.
    """
    return Plan(
        backend,
        [f"nothing: {missing.message}; {missing.hint}"],
        devices=list(_devices(backend, known)),
        memory=estimate(known),
        no_memory=why_no_estimate(known),
        reads=[checked.path for checked in loaded.checked.values()],
    )


def _devices(backend: str, known: dict[str, Any]) -> tuple[str, ...]:
    each, nodes = known.get("num_gpus_per_node"), known.get("verl.nnodes" if backend == "verl" else "num_node")
    if each is None or nodes is None:
        return ()
    return (f"{each} on each of {nodes} node{'s' * (nodes > 1)}",)
