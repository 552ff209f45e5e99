"""The trainer of the local backend: one process on one machine. Importable without torch."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from agentic_rl.backends.base import Plan, Trainer, TrainResult
from agentic_rl.backends.disk import disk_errors
from agentic_rl.backends.errors import StopRequestedError, TrainingError
from agentic_rl.backends.findings import CANNOT_RESUME, finding
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.local import description
from agentic_rl.backends.local.checkpoint_store import Checkpoint, CheckpointStore, resumable
from agentic_rl.backends.local.data import total_steps
from agentic_rl.backends.local.data_files import DataFile
from agentic_rl.backends.local.description import Start
from agentic_rl.backends.local.devices import check_device, check_packages, prepare_threads
from agentic_rl.backends.local.progress import Progress
from agentic_rl.backends.local.run_folder import LocalRunFolder, opened
from agentic_rl.backends.local.settings import TRAIN_FILES, evaluation_due, local_section
from agentic_rl.backends.run_folder import CURVE, EVALUATION, METRICS, TENSORBOARD, run_path
from agentic_rl.config.diagnostics import ConfigError, Finding, Report
from agentic_rl.tracking import JsonLinesTracker, Listeners, Tracker, console_tracker, log_lines_to

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


class LocalTrainer(Trainer):
    """Trains with transformers in this process."""

    def __init__(self, loaded: Loaded) -> None:
        super().__init__(loaded)
        self._config = loaded.require()
        self._section = local_section(self._config)
        self._report: Report | None = None

    def check(self) -> Report:
        """Packages, device, resuming. The data files were checked when the configuration was loaded."""
        if self._report is None:
            self._report = Report([self._placed(found) for found in self._findings()])
        return self._report

    def plan(self) -> Plan:
        """Say what `fit` would do.

        Raises:
            ConfigError: `check` has a finding of severity error.
            SaveError: the run's folder can't be read.
        """
        self._refuse_errors()
        return description.describe(self.loaded, self._total(), self._start())

    def fit(self) -> TrainResult:
        """Train, or only evaluate where the configuration says so (`test_only`, `val_only`)."""
        with self._session() as (folder, console, interrupts):
            checkpoint = folder.checkpoints.newest(console.note)
            if self._config.evaluates_only:
                return self._evaluated(folder, console, interrupts, checkpoint)
            if checkpoint is not None and self._finished(checkpoint):
                console.note(_already_finished(checkpoint, self._total()))
                return TrainResult(checkpoint.step, "already_finished", checkpoint=checkpoint.path)
            return self._train(folder, console, interrupts, checkpoint)

    def evaluate(self) -> dict[str, float]:
        """Evaluate the newest checkpoint, or the untrained policy.

        Raises:
            KeyboardInterrupt: a stop was asked for.
        """
        with self._session() as (folder, console, interrupts):
            checkpoint = folder.checkpoints.newest(console.note)
            result = self._evaluated(folder, console, interrupts, checkpoint)
        if result.exit_reason == "interrupted":
            raise KeyboardInterrupt
        return dict(result.metrics)

    def _start(self) -> Start:
        """Where `fit` would begin, by the checkpoints that are there now; nothing is made or removed."""
        path = run_path(self._section.project_name, self._section.experiment_name)
        skipped: list[str] = []
        with disk_errors(path):
            checkpoint = CheckpointStore(path).newest(skipped.append) if path.is_dir() else None
            return Start(checkpoint, checkpoint is not None and self._finished(checkpoint), skipped)

    @contextlib.contextmanager
    def _session(self) -> Iterator[tuple[LocalRunFolder, Tracker, Interrupts]]:
        self._refuse_errors()
        _refuse_running_loop()
        console = console_tracker()
        path = run_path(self._section.project_name, self._section.experiment_name)
        with (
            contextlib.closing(console),
            log_lines_to(console),
            disk_errors(path),
            opened(path) as folder,
            Interrupts(lambda name: console.note(_stopping(name))) as interrupts,
        ):
            yield folder, console, interrupts

    def _train(
        self, folder: LocalRunFolder, console: Tracker, interrupts: Interrupts, checkpoint: Checkpoint | None
    ) -> TrainResult:
        prepare_threads(self._section.threads)
        from agentic_rl.backends.local.run import Run

        trackers = [console, JsonLinesTracker(folder.metrics), *self._tensorboard(folder, checkpoint)]
        tracker = Listeners(trackers)
        result = Run(self.loaded, folder, tracker, interrupts).train(checkpoint, self._total())
        drawn = self._drawn(folder, console)
        tracker.close()
        console.note(
            _ending(result, folder, drawn, warms_up=self._section.sft_files is not None)
        )  # below the bar: the last line
        return result

    def _drawn(self, folder: LocalRunFolder, console: Tracker) -> bool:
        """Draw the learning curve. The run is safe by now, so a picture that can't be made is no failure."""
        title = f"{self._section.project_name} / {self._section.experiment_name}"
        try:
            from agentic_rl.tracking.curve import draw

            return draw(folder.path / METRICS, folder.path / CURVE, title)
        except (ImportError, OSError) as error:
            console.note(f"warning: no learning curve: {error}")
            return False

    def _tensorboard(self, folder: LocalRunFolder, checkpoint: Checkpoint | None) -> list[Tracker]:
        if not self._config.use_tensorboard:
            return []
        from agentic_rl.tracking.tensorboard import TensorBoardTracker

        return [TensorBoardTracker(folder.path / TENSORBOARD, checkpoint.step if checkpoint else 0)]

    def _evaluated(
        self, folder: LocalRunFolder, console: Tracker, interrupts: Interrupts, checkpoint: Checkpoint | None
    ) -> TrainResult:
        prepare_threads(self._section.threads)
        from agentic_rl.backends.local.run import Run

        step, path = (checkpoint.step, checkpoint.path) if checkpoint else (0, None)
        console.note(f"evaluating {path or 'the untrained model'} on {self._section.val_files}")
        try:
            metrics = Run(self.loaded, folder, console, interrupts).evaluate(checkpoint)
        except StopRequestedError:
            console.note("interrupted: the evaluation is not complete")
            return TrainResult(step, "interrupted", checkpoint=path)
        console.log("evaluation", step, metrics)
        folder.write(EVALUATION, json.dumps({"step": step, **metrics}, indent=1) + "\n")
        return TrainResult(step, "evaluated", metrics, path)

    def _finished(self, checkpoint: Checkpoint) -> bool:
        """Whether nothing is left to do, the last evaluation included."""
        total = self._total()
        evaluated = Progress.read(checkpoint.path).evaluated == checkpoint.step
        return checkpoint.step >= total and (evaluated or not evaluation_due(self._config, checkpoint.step, total))

    def _total(self) -> int:
        rows = DataFile.of(self.loaded, TRAIN_FILES).rows()
        section = self._section
        return total_steps(rows, section.train_batch_size, section.total_epochs, section.total_training_steps)

    def _findings(self) -> Iterator[Finding]:
        section = self._section
        missing = check_packages()
        yield from missing
        if not missing:
            yield from check_device(self._config.device)
        if not resumable(section.ckpt_content):
            content = ", ".join(section.ckpt_content)
            message = f"a run can't go on from checkpoints that hold only: {content}"
            yield finding(CANNOT_RESUME, "local.ckpt_content", message, "ckpt_content: [model, optimizer, extra]")

    def _placed(self, found: Finding) -> Finding:
        """Add where the finding's key stands in the file."""
        place = self.loaded.document.places.get(found.key)
        if place is None:
            return found
        return dataclasses.replace(found, file=place.file, line=place.line, column=place.column)

    def _refuse_errors(self) -> None:
        if self.check().verdict == "error":
            raise ConfigError(self.check())


def _refuse_running_loop() -> None:
    """Rollouts run on an event loop of their own, and a thread runs one at a time."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise TrainingError(
        "this thread runs an event loop already (a notebook does), and training needs one of its own",
        "await asyncio.to_thread(trainer.fit)",
    )


def _stopping(signal_name: str) -> str:
    return f"{signal_name}: stopping after the last whole step; once more stops at once, without a checkpoint"


def _already_finished(checkpoint: Checkpoint, total: int) -> str:
    return (
        f"already finished: {checkpoint.path} has all {total} steps. "
        "To train again from the beginning change project_name or experiment_name"
    )


def _ending(result: TrainResult, folder: LocalRunFolder, drawn: bool, *, warms_up: bool) -> str:
    """The last line: how the run ended and where its results are."""
    curve = f"; learning curve: {folder.path / CURVE}" if drawn else ""
    if result.exit_reason == "interrupted":
        if result.checkpoint is None and warms_up:
            return (
                "interrupted in the warm-up, which is lost: there is no training step to save yet; "
                "the next start begins it again"
            )
        if result.checkpoint is None:
            return "interrupted before the first whole step: nothing was saved, the next start begins again"
        return f"interrupted after step {result.steps}: the same command goes on from {result.checkpoint}{curve}"
    reward = result.metrics.get("eval/reward")
    held_out = "" if reward is None else f", held-out reward {reward:.3f}"
    return f"finished: {result.steps} steps{held_out}; checkpoint: {result.checkpoint}{curve}"
