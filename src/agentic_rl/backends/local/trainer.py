"""The trainer of the local backend: one process on one machine. Importable without torch."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agentic_rl.backends.agent_environment import set_for_agents
from agentic_rl.backends.base import Plan, TrainResult
from agentic_rl.backends.disk import disk_errors
from agentic_rl.backends.errors import StopRequestedError, TrainingError
from agentic_rl.backends.findings import CANNOT_RESUME, finding
from agentic_rl.backends.local import description
from agentic_rl.backends.local.checkpoint_store import Checkpoint, CheckpointStore, resumable
from agentic_rl.backends.local.data import total_steps
from agentic_rl.backends.local.data_files import DataFile
from agentic_rl.backends.local.description import Start
from agentic_rl.backends.local.devices import check_device, check_packages, prepare_threads
from agentic_rl.backends.local.progress import Progress
from agentic_rl.backends.local.run_folder import LocalRunFolder, opened
from agentic_rl.backends.local.settings import TRAIN_FILES, evaluation_due, local_section
from agentic_rl.backends.run_folder import TENSORBOARD
from agentic_rl.backends.run_trainer import (
    RunTrainer,
    Session,
    already_finished,
    ending,
    evaluation_interrupted,
    keep_evaluation,
)
from agentic_rl.config.diagnostics import Finding
from agentic_rl.tracking import JsonLinesTracker, Listeners, Tracker

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


class LocalTrainer(RunTrainer[LocalRunFolder]):
    """Trains with transformers in this process."""

    stopping = "stopping after the last whole step"

    def __init__(self, loaded: Loaded) -> None:
        self._config = loaded.require_flat()
        self._section = local_section(self._config)
        super().__init__(loaded, self._section)

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
        with self._session() as session:
            if self._config.evaluates_only:
                return self._evaluated(session)
            checkpoint = session.folder.checkpoints.newest(session.console.note)
            if checkpoint is not None and self._finished(checkpoint):
                return already_finished(session.console, checkpoint.step, checkpoint.path, self._total())
            return self._train(session, checkpoint)

    def _start(self) -> Start:
        """Where `fit` would begin, by the checkpoints that are there now; nothing is made or removed."""
        skipped: list[str] = []
        with disk_errors(self._path):
            checkpoint = CheckpointStore(self._path).newest(skipped.append) if self._path.is_dir() else None
            return Start(checkpoint, checkpoint is not None and self._finished(checkpoint), skipped)

    @contextlib.contextmanager
    def _opened(self, path: Path) -> Iterator[LocalRunFolder]:
        _refuse_running_loop()
        with set_for_agents(self.loaded), opened(path) as folder:
            yield folder

    def _train(self, session: Session[LocalRunFolder], checkpoint: Checkpoint | None) -> TrainResult:
        prepare_threads(self._section.threads)
        from agentic_rl.backends.local.run import Run

        folder, console = session.folder, session.console
        tracker = Listeners([console, JsonLinesTracker(folder.metrics), *self._tensorboard(folder, checkpoint)])
        result = Run(self.loaded, folder, tracker, session.interrupts).train(checkpoint, self._total())
        curve = self._drawn(session)
        tracker.close()
        console.note(self._last_words(result, curve))  # below the bar: the last line
        return result

    def _tensorboard(self, folder: LocalRunFolder, checkpoint: Checkpoint | None) -> list[Tracker]:
        if not self._config.use_tensorboard:
            return []
        from agentic_rl.tracking.tensorboard import TensorBoardTracker

        return [TensorBoardTracker(folder.path / TENSORBOARD, checkpoint.step if checkpoint else 0)]

    def _last_words(self, result: TrainResult, curve: str) -> str:
        in_warmup = result.exit_reason == "interrupted" and result.checkpoint is None
        if in_warmup and self._section.sft_files is not None:
            return (
                "interrupted in the warm-up, which is lost: there is no training step to save yet; "
                "the next start begins it again"
            )
        return ending(result, curve)

    def _evaluated(self, session: Session[LocalRunFolder]) -> TrainResult:
        prepare_threads(self._section.threads)
        from agentic_rl.backends.local.run import Run

        folder, console = session.folder, session.console
        checkpoint = folder.checkpoints.newest(console.note)
        step, path = (checkpoint.step, checkpoint.path) if checkpoint else (0, None)
        console.note(f"evaluating {path or 'the untrained model'} on {self._section.val_files}")
        try:
            metrics = Run(self.loaded, folder, console, session.interrupts).evaluate(checkpoint)
        except StopRequestedError:
            return evaluation_interrupted(console, step, path)
        console.log("evaluation", step, metrics)
        return keep_evaluation(folder, step, path, metrics)

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
        """Packages, device, resuming. The data files were checked when the configuration was loaded."""
        section = self._section
        missing = check_packages()
        yield from missing
        if not missing:
            yield from check_device(self._config.device)
        if not resumable(section.ckpt_content):
            content = ", ".join(section.ckpt_content)
            message = f"a run can't go on from checkpoints that hold only: {content}"
            yield finding(CANNOT_RESUME, "local.ckpt_content", message, "ckpt_content: [model, optimizer, extra]")


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
