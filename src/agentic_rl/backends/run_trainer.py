"""What the trainers share whose runs have a folder on this machine: the check, the session, the last words."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, Protocol, TypeVar

from agentic_rl.backends.agent_environment import variables_of, words_about_sandbox
from agentic_rl.backends.base import Trainer, TrainResult
from agentic_rl.backends.disk import disk_errors
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.run_folder import CURVE, EVALUATION, METRICS, RunFolder, run_path
from agentic_rl.config.diagnostics import ConfigError, Finding, Report
from agentic_rl.tracking import Tracker, console_tracker, log_lines_to

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded

Folder = TypeVar("Folder", bound=RunFolder)


@dataclasses.dataclass(frozen=True)
class Session(Generic[Folder]):
    """One start of a run."""

    folder: Folder
    console: Tracker
    interrupts: Interrupts


class Named(Protocol):
    """What a run is called."""

    @property
    def project_name(self) -> str:
        """The first part of its path."""
        ...

    @property
    def experiment_name(self) -> str:
        """The second."""
        ...


class RunTrainer(Trainer, Generic[Folder]):
    """Trains in `checkpoints/<project>/<experiment>`, which one process holds at a time."""

    stopping: ClassVar[str]
    """What the first Ctrl-C does."""

    def __init__(self, loaded: Loaded, named: Named) -> None:
        super().__init__(loaded)
        self._named = named
        self._report: Report | None = None

    def check(self) -> Report:
        """The findings that only this backend can make; made once."""
        if self._report is None:
            self._report = Report([self._placed(found) for found in self._findings()])
        return self._report

    def evaluate(self) -> dict[str, float]:
        """Evaluate the newest checkpoint, or the untrained policy.

        Raises:
            KeyboardInterrupt: a stop was asked for.
        """
        with self._session() as session:
            result = self._evaluated(session)
        if result.exit_reason == "interrupted":
            raise KeyboardInterrupt
        return dict(result.metrics)

    @abstractmethod
    def _findings(self) -> Iterable[Finding]:
        """What this backend finds, without places."""

    @abstractmethod
    def _opened(self, path: Path) -> contextlib.AbstractContextManager[Folder]:
        """The run's folder, made where it is missing, and locked."""

    @abstractmethod
    def _evaluated(self, session: Session[Folder]) -> TrainResult:
        """Evaluate the newest checkpoint, or the untrained policy."""

    @property
    def _path(self) -> Path:
        return run_path(self._named.project_name, self._named.experiment_name)

    @contextlib.contextmanager
    def _session(
        self, stopping: str = "stopping after the last whole step; once more stops at once"
    ) -> Iterator[Session[Folder]]:
        self._refuse_errors()
        console = console_tracker()
        with (
            contextlib.closing(console),
            log_lines_to(console),
            disk_errors(self._path),
            self._opened(self._path) as folder,
            Interrupts(
                lambda name: console.note(f"{name}: {self.stopping}; once more stops at once, without a checkpoint")
            ) as interrupts,
        ):
            said = words_about_sandbox(variables_of(self.loaded, os.environ))
            if said:
                console.note(said)
            yield Session(folder, console, interrupts)

    def _drawn(self, session: Session[Folder]) -> str:
        """Draw the learning curve; words that say where it is. The run is safe by now, so no picture is no failure."""
        path = session.folder.path
        try:
            from agentic_rl.tracking.curve import draw

            title = f"{self._named.project_name} / {self._named.experiment_name}"
            drawn = draw(path / METRICS, path / CURVE, title)
        except (ImportError, OSError) as error:
            session.console.note(f"warning: no learning curve: {error}")
            return ""
        return f"; learning curve: {path / CURVE}" if drawn else ""

    def _placed(self, found: Finding) -> Finding:
        """Add where the finding's key stands in the file, if it has no place yet."""
        if found.file:
            return found
        place = self.loaded.document.places.get(found.key)
        if place is None:
            return found
        return dataclasses.replace(found, file=place.file, line=place.line, column=place.column)

    def _refuse_errors(self) -> None:
        if self.check().verdict == "error":
            raise ConfigError(self.check())


def keep_evaluation(folder: RunFolder, step: int, path: Path | None, metrics: dict[str, float]) -> TrainResult:
    """Write the measurements of an evaluation into the run's folder."""
    folder.write(EVALUATION, json.dumps({"step": step, **metrics}, indent=1) + "\n")
    return TrainResult(step, "evaluated", metrics, path)


def evaluation_interrupted(console: Tracker, step: int, path: Path | None) -> TrainResult:
    """Say that an evaluation was not made to its end."""
    console.note("interrupted: the evaluation is not complete")
    return TrainResult(step, "interrupted", checkpoint=path)


def already_finished(console: Tracker, step: int, path: Path, total: int) -> TrainResult:
    """Say that nothing is left to do."""
    console.note(
        f"already finished: {path} has all {total} steps. "
        "To train again from the beginning change project_name or experiment_name"
    )
    return TrainResult(step, "already_finished", checkpoint=path)


def ending(result: TrainResult, curve: str) -> str:
    """The last line: how the run ended and where its results are; `curve` says where the picture is."""
    if result.exit_reason == "interrupted":
        if result.checkpoint is None:
            return "interrupted before the first whole step: nothing was saved, the next start begins again"
        return f"interrupted after step {result.steps}: the same command goes on from {result.checkpoint}{curve}"
    reward = result.metrics.get("eval/reward")
    held_out = "" if reward is None else f", held-out reward {reward:.3f}"
    return f"finished: {result.steps} steps{held_out}; checkpoint: {result.checkpoint}{curve}"
