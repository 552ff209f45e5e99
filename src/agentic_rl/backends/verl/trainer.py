"""The trainer of the backend verl. Importable without verl, Ray and torch."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.agent_environment import variables_of
from agentic_rl.backends.base import Plan, TrainResult
from agentic_rl.backends.errors import StopRequestedError
from agentic_rl.backends.run_trainer import (
    RunTrainer,
    Session,
    already_finished,
    ending,
    evaluation_interrupted,
    keep_evaluation,
)
from agentic_rl.backends.unavailable import plan_without
from agentic_rl.backends.verl import description, job
from agentic_rl.backends.verl.checkpoints import Checkpoint, newest
from agentic_rl.backends.verl.environment import environment
from agentic_rl.backends.verl.folder import VerlRunFolder, opened
from agentic_rl.backends.verl.installation import check_installation
from agentic_rl.backends.verl.mapping import verl_section
from agentic_rl.backends.verl.rendering import check_template, overrides, render, resolved_device
from agentic_rl.backends.verl.reports import Reports
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.verl_native.installation import installed
from agentic_rl.tracking import JsonLinesTracker, Listeners, Tracker

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


class VerlTrainer(RunTrainer[VerlRunFolder]):
    """Trains with verl, on a Ray of its own or on the cluster that `RAY_ADDRESS` names.

    `check` takes some seconds: verl is imported, in another process.
    """

    stopping = "stopping after this step, with a checkpoint"

    def __init__(self, loaded: Loaded) -> None:
        section = verl_section(loaded.require())
        super().__init__(loaded, section)
        self._section = section
        self._installation = installed()

    def plan(self) -> Plan:
        """Say what `fit` would do; where verl is missing or would refuse, what is known all the same."""
        refusing = [found for found in self.check() if found.severity == "error"]
        if refusing:
            return plan_without(self.loaded, refusing[0])
        native = self._native()
        given = overrides(self._config, installation=self._installation)
        agents = variables_of(self.loaded, os.environ)
        variables = environment(native["trainer"]["device"], os.environ, self._path, agents)
        return description.describe(self.loaded, native, given, variables, newest(self._path))

    def fit(self) -> TrainResult:
        """Train, or only evaluate where the configuration says so (`test_only`, `val_only`)."""
        with self._session() as session:
            if self._config.evaluates_only:
                return self._evaluated(session)
            checkpoint, total = newest(self._path), job.total_steps(self.loaded)
            if checkpoint is not None and total is not None and checkpoint.step >= total:
                return already_finished(session.console, checkpoint.step, checkpoint.path, total)
            return self._train(session, checkpoint)

    def _opened(self, path: Path) -> contextlib.AbstractContextManager[VerlRunFolder]:
        return opened(path)

    def _train(self, session: Session[VerlRunFolder], checkpoint: Checkpoint | None) -> TrainResult:
        folder, step = session.folder, checkpoint.step if checkpoint else 0
        known = folder.go_back_to(step)
        lines = JsonLinesTracker(folder.metrics)
        Reports(folder.own.metrics, folder.own.events, lines).pass_missed_on(known, upto=step)
        tracker = Listeners([session.console, lines])
        reports, stopped = self._run(session, tracker, checkpoint, self._native())
        curve = self._drawn(session)
        tracker.close()
        last = newest(self._path)
        result = TrainResult(
            max(reports.step, step),
            "interrupted" if stopped else "finished",
            reports.newest,
            last.path if last else None,
        )
        session.console.note(ending(result, curve))
        return result

    def _evaluated(self, session: Session[VerlRunFolder]) -> TrainResult:
        checkpoint = newest(self._path)
        step, path = (checkpoint.step, checkpoint.path) if checkpoint else (0, None)
        session.console.note(f"evaluating {path or 'the untrained model'} on {self._section.val_files}")
        reports, stopped = self._run(session, session.console, checkpoint, job.evaluating(self._native()))
        if stopped:
            return evaluation_interrupted(session.console, step, path)
        return keep_evaluation(session.folder, step, path, reports.newest)

    def _run(
        self,
        session: Session[VerlRunFolder],
        tracker: Tracker,
        checkpoint: Checkpoint | None,
        native: dict[str, Any],
    ) -> tuple[Reports, bool]:
        """Run verl; return what it reported, and whether a stop was asked for."""
        from agentic_rl.backends.verl import launch

        folder = session.folder
        folder.forget_last_start()
        prepared = job.prepared(self.loaded, job.resuming(native, checkpoint), folder)
        reports = Reports(folder.own.metrics, folder.own.events, tracker)
        tracker.note("starting Ray, the trainer and the engine: this takes a minute or more")
        try:
            launch.run(prepared, reports, session.interrupts)
        except StopRequestedError:
            return reports, True
        return reports, False

    def _native(self) -> dict[str, Any]:
        return render(self._config, installation=self._installation)

    def _findings(self) -> Iterator[Finding]:
        """Packages, keys that the installed verl lacks, and the native configuration as verl judges it."""
        found = check_installation(self._installation, resolved_device(self._config))
        if not _refuses(found):
            found += check_template(self._config, installation=self._installation)
        yield from found
        if not _refuses(found):
            from agentic_rl.backends.verl.native_check import findings

            yield from findings(self.loaded, self._native(), self._installation)


def _refuses(found: Iterable[Finding]) -> bool:
    return any(one.severity == "error" for one in found)
