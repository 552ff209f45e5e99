"""The trainer of the backend verl. Importable without verl, Ray and torch."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.base import Plan, Trainer, TrainResult
from agentic_rl.backends.disk import disk_errors
from agentic_rl.backends.errors import StopRequestedError
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.run_folder import CURVE, EVALUATION, METRICS, run_path
from agentic_rl.backends.unavailable import plan_without
from agentic_rl.backends.verl import description, installation, job
from agentic_rl.backends.verl.checkpoints import Checkpoint, newest
from agentic_rl.backends.verl.environment import environment
from agentic_rl.backends.verl.folder import VerlRunFolder, opened
from agentic_rl.backends.verl.rendering import check_template, overrides, render, resolved_device
from agentic_rl.backends.verl.reports import Reports
from agentic_rl.config.diagnostics import ConfigError, Finding, Report
from agentic_rl.tracking import JsonLinesTracker, Listeners, Tracker, console_tracker, log_lines_to

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


class VerlTrainer(Trainer):
    """Trains with verl, on a Ray of its own or on the cluster that `RAY_ADDRESS` names."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self._config = loaded.require()
        if self._config.verl is None:
            raise LookupError("the configuration has no section verl")
        self._section = self._config.verl
        self._path = run_path(self._section.project_name, self._section.experiment_name)
        self._installation = installation.installed()
        self._report: Report | None = None

    def check(self) -> Report:
        """Packages, the native configuration as verl judges it, devices; some seconds, since verl is imported."""
        if self._report is None:
            self._report = Report([self._placed(found) for found in self._findings()])
        return self._report

    def plan(self) -> Plan:
        """Say what `fit` would do; where verl is missing or would refuse, what is known all the same."""
        refusing = [found for found in self.check() if found.severity == "error"]
        if refusing:
            return plan_without(self.loaded, refusing[0])
        native = self._native()
        variables = environment(native["trainer"]["device"], os.environ, self._path)
        given = overrides(self._config, installation=self._installation)
        return description.describe(self.loaded, native, given, variables, newest(self._path))

    def fit(self) -> TrainResult:
        """Train, or only evaluate where the configuration says so (`test_only`, `val_only`)."""
        with self._session() as (folder, console, interrupts):
            checkpoint = newest(self._path)
            if self._config.evaluates_only:
                return self._evaluated(folder, console, interrupts, checkpoint)
            total = job.total_steps(self.loaded)
            if checkpoint is not None and total is not None and checkpoint.step >= total:
                console.note(_already_finished(checkpoint, total))
                return TrainResult(checkpoint.step, "already_finished", checkpoint=checkpoint.path)
            return self._train(folder, console, interrupts, checkpoint)

    def evaluate(self) -> dict[str, float]:
        """Evaluate the newest checkpoint, or the untrained policy.

        Raises:
            KeyboardInterrupt: a stop was asked for.
        """
        with self._session() as (folder, console, interrupts):
            result = self._evaluated(folder, console, interrupts, newest(self._path))
        if result.exit_reason == "interrupted":
            raise KeyboardInterrupt
        return dict(result.metrics)

    @contextlib.contextmanager
    def _session(self) -> Iterator[tuple[VerlRunFolder, Tracker, Interrupts]]:
        self._refuse_errors()
        console = console_tracker()
        with (
            contextlib.closing(console),
            log_lines_to(console),
            disk_errors(self._path),
            opened(self._path) as folder,
            Interrupts(lambda name: console.note(_stopping(name))) as interrupts,
        ):
            yield folder, console, interrupts

    def _train(
        self, folder: VerlRunFolder, console: Tracker, interrupts: Interrupts, checkpoint: Checkpoint | None
    ) -> TrainResult:
        step = checkpoint.step if checkpoint else 0
        known = folder.go_back_to(step)
        lines = JsonLinesTracker(folder.metrics)
        Reports(folder.own.metrics, folder.own.events, lines).pass_missed_on(known, upto=step)
        tracker = Listeners([console, lines])
        reports, stopped = self._run(folder, tracker, interrupts, checkpoint, native=self._native())
        drawn = self._drawn(folder, console)
        tracker.close()
        last = newest(self._path)
        result = TrainResult(
            max(reports.step, step),
            "interrupted" if stopped else "finished",
            reports.newest,
            last.path if last else None,
        )
        console.note(_ending(result, curve=f"; learning curve: {folder.path / CURVE}" if drawn else ""))
        return result

    def _evaluated(
        self, folder: VerlRunFolder, console: Tracker, interrupts: Interrupts, checkpoint: Checkpoint | None
    ) -> TrainResult:
        step, path = (checkpoint.step, checkpoint.path) if checkpoint else (0, None)
        console.note(f"evaluating {path or 'the untrained model'} on {self._section.val_files}")
        native = job.evaluating(self._native())
        reports, stopped = self._run(folder, console, interrupts, checkpoint, native=native)
        if stopped:
            console.note("interrupted: the evaluation is not complete")
            return TrainResult(step, "interrupted", checkpoint=path)
        folder.write(EVALUATION, json.dumps({"step": step, **reports.newest}, indent=1) + "\n")
        return TrainResult(step, "evaluated", reports.newest, path)

    def _run(
        self,
        folder: VerlRunFolder,
        tracker: Tracker,
        interrupts: Interrupts,
        checkpoint: Checkpoint | None,
        *,
        native: dict[str, Any],
    ) -> tuple[Reports, bool]:
        """Run verl; return what it reported, and whether a stop was asked for."""
        from agentic_rl.backends.verl import launch

        folder.forget_last_start()
        prepared = job.prepared(self.loaded, job.resuming(native, checkpoint), folder)
        reports = Reports(folder.own.metrics, folder.own.events, tracker)
        tracker.note("starting Ray, the trainer and the engine: this takes a minute or more")
        try:
            launch.run(prepared, reports, interrupts)
        except StopRequestedError:
            return reports, True
        return reports, False

    def _native(self) -> dict[str, Any]:
        return render(self._config, installation=self._installation)

    def _drawn(self, folder: VerlRunFolder, console: Tracker) -> bool:
        """Draw the learning curve. The run is safe by now, so a picture that can't be made is no failure."""
        try:
            from agentic_rl.tracking.curve import draw

            title = f"{self._section.project_name} / {self._section.experiment_name}"
            return draw(folder.path / METRICS, folder.path / CURVE, title)
        except (ImportError, OSError) as error:
            console.note(f"warning: no learning curve: {error}")
            return False

    def _findings(self) -> Iterator[Finding]:
        found = installation.check_installation(self._installation, resolved_device(self._config))
        if not _refuses(found):
            found += check_template(self._config, installation=self._installation)
        yield from found
        if not _refuses(found):
            from agentic_rl.backends.verl.native_check import findings

            yield from findings(self.loaded, self._native(), self._installation)

    def _placed(self, found: Finding) -> Finding:
        """Add where the finding's key stands in the file."""
        place = self.loaded.document.places.get(found.key)
        if place is None:
            return found
        return dataclasses.replace(found, file=place.file, line=place.line, column=place.column)

    def _refuse_errors(self) -> None:
        if self.check().verdict == "error":
            raise ConfigError(self.check())


def _refuses(found: Iterable[Finding]) -> bool:
    return any(one.severity == "error" for one in found)


def _stopping(signal_name: str) -> str:
    return f"{signal_name}: stopping after this step, with a checkpoint; once more stops at once, without one"


def _already_finished(checkpoint: Checkpoint, total: int) -> str:
    return (
        f"already finished: {checkpoint.path} has all {total} steps. "
        "To train again from the beginning change project_name or experiment_name"
    )


def _ending(result: TrainResult, curve: str) -> str:
    """The last line: how the run ended and where its results are."""
    if result.exit_reason == "interrupted":
        if result.checkpoint is None:
            return "interrupted before the first whole step: nothing was saved, the next start begins again"
        return f"interrupted after step {result.steps}: the same command goes on from {result.checkpoint}{curve}"
    reward = result.metrics.get("eval/reward")
    held_out = "" if reward is None else f", held-out reward {reward:.3f}"
    return f"finished: {result.steps} steps{held_out}; checkpoint: {result.checkpoint}{curve}"
