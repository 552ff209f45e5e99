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
from agentic_rl.backends.verl.reports import Reports
from agentic_rl.backends.verl.runs import run_of
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

    def __init__(self, loaded: Loaded, instance: str | None = None) -> None:
        self._installation = installed()
        self._run_of_file = run_of(loaded, self._installation, instance)
        super().__init__(loaded, self._run_of_file)

    def plan(self) -> Plan:
        """Say what `fit` would do; where verl is missing or would refuse, what is known all the same."""
        run = self._run_of_file
        refusing = [found for found in self.check() if found.severity == "error"]
        if refusing:
            return plan_without("verl", self.loaded, refusing[0], run.known)
        native = run.native()
        agents = variables_of(self.loaded, os.environ)
        variables = environment(native["trainer"]["device"], os.environ, self._path, agents)
        return description.describe(run, native, run.overrides(), variables, self._run_of_file.beginning())

    def fit(self) -> TrainResult:
        """Train, or only evaluate where the configuration says so (`test_only`, `val_only`)."""
        with self._session() as session:
            native = self._run_of_file.native()
            if job.evaluates_only(native):
                return self._evaluated(session)
            checkpoint, total = self._run_of_file.beginning(), job.total_steps(self._run_of_file, native)
            if checkpoint is not None and total is not None and checkpoint.step >= total:
                return already_finished(session.console, checkpoint.step, checkpoint.path, total)
            return self._train(session, checkpoint)

    @property
    def _path(self) -> Path:
        return self._run_of_file.folder

    def _opened(self, path: Path) -> contextlib.AbstractContextManager[VerlRunFolder]:
        return opened(path)

    def _train(self, session: Session[VerlRunFolder], checkpoint: Checkpoint | None) -> TrainResult:
        folder, step = session.folder, checkpoint.step if checkpoint else 0
        known = folder.go_back_to(step)
        lines = JsonLinesTracker(folder.metrics)
        Reports(folder.own.metrics, folder.own.events, lines).pass_missed_on(known, upto=step)
        tracker = Listeners([session.console, lines])
        reports, stopped = self._run(session, tracker, checkpoint, self._run_of_file.native())
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
        native = job.evaluating(self._run_of_file.native())
        session.console.note(f"evaluating {path or 'the untrained model'} on {description.held_out(native)}")
        reports, stopped = self._run(session, session.console, checkpoint, native)
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
        prepared = job.prepared(self._run_of_file, job.resuming(native, checkpoint), folder)
        reports = Reports(folder.own.metrics, folder.own.events, tracker)
        tracker.note("starting Ray, the trainer and the engine: this takes a minute or more")
        try:
            launch.run(prepared, reports, session.interrupts)
        except StopRequestedError:
            return reports, True
        return reports, False

    def _findings(self) -> Iterator[Finding]:
        """Packages, what the format's way to verl's configuration finds, and that configuration as verl judges it."""
        run = self._run_of_file
        found = check_installation(self._installation, run.device)
        if not _refuses(found):
            found += run.problems()
        yield from found
        if not _refuses(found):
            from agentic_rl.backends.verl.native_check import findings

            yield from findings(run, run.native(), self._installation)


def _refuses(found: Iterable[Finding]) -> bool:
    return any(one.severity == "error" for one in found)
