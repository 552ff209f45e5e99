"""The training loop: roll out, learn, evaluate, save; and what happens when a step can't be finished."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch

from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.errors import DivergedError
from agentic_rl.backends.failed_rollouts import refuse_failures
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.local import random_states
from agentic_rl.backends.local.checkpoint import Learned
from agentic_rl.backends.local.data import DataOrder, TaskTable, rollout_seed
from agentic_rl.backends.local.evaluation import Roll, evaluate
from agentic_rl.backends.local.learner import NonFiniteLossError
from agentic_rl.backends.local.progress import Progress
from agentic_rl.backends.local.rollouts import rollout_metrics, to_samples
from agentic_rl.backends.local.run_folder import FAILED_BATCH, LocalRunFolder
from agentic_rl.backends.local.settings import evaluation_due
from agentic_rl.backends.local.trajectory_log import TrajectoryLog
from agentic_rl.tracking import Phase, Tracker

if TYPE_CHECKING:
    from agentic_rl.config.flat import FlatConfig, LocalSection


@dataclass(frozen=True)
class Parts:
    """What a run works with."""

    learned: Learned
    roll: Roll
    tasks: TaskTable
    held_out: TaskTable


class TrainingLoop:
    """Takes a run from `progress` to `total` steps."""

    def __init__(
        self,
        config: FlatConfig,
        section: LocalSection,
        parts: Parts,
        *,
        folder: LocalRunFolder,
        tracker: Tracker,
        interrupts: Interrupts,
        progress: Progress,
        total: int,
    ) -> None:
        self.progress = progress
        self.metrics: dict[str, float] = {}
        """The newest value of each metric."""
        self._config = config
        self._section = section
        self._parts = parts
        self._folder = folder
        self._tracker = tracker
        self._interrupts = interrupts
        self._total = total
        self._order = DataOrder(len(parts.tasks), section.train_batch_size, config.seed)
        self._trajectories = TrajectoryLog(folder.trajectories, total, by_reward=not config.use_kl_in_reward)
        self._random = random_states.capture()
        self._saved = (progress.step, progress.evaluated)

    def run(self) -> None:
        """Train to the end.

        Raises:
            StopRequestedError: a stop was asked for; `save_if_newer` keeps what was reached.
            TrainingError: the job failed.
        """
        self._evaluate_if_due()
        self._tracker.begin("training", self._total, self.progress.step)
        while self.progress.step < self._total:
            self._interrupts.check()
            self._step()
            self._evaluate_if_due()
            if self._is_last or self.progress.step % self._section.save_freq == 0:
                self.save()
        self.save_if_newer()

    def evaluate(self) -> dict[str, float]:
        """Evaluate the policy as it is."""
        started = time.perf_counter()
        metrics = evaluate(self._parts.held_out, self._config, self._parts.roll)
        return {**metrics, "time/evaluation": time.perf_counter() - started}

    def save_if_newer(self) -> None:
        """Write a checkpoint unless the newest one is of the same step and evaluation."""
        if self.progress.step > 0 and (self.progress.step, self.progress.evaluated) != self._saved:
            self.save()

    def save(self, content: Sequence[str] = ()) -> None:
        """Write a checkpoint of the last whole step; `content` takes the place of `ckpt_content`."""
        self._folder.sync()
        self.progress = replace(self.progress, lengths=self._folder.lengths())
        items, store = list(content or self._section.ckpt_content), self._folder.checkpoints
        step, save = self.progress.step, self._parts.learned.save
        store.write(step, items, lambda into: save(into, items, self.progress, self._random))
        store.keep_newest(self._config.keep_checkpoints, step)
        self._saved = (step, self.progress.evaluated)

    @property
    def _is_last(self) -> bool:
        return self.progress.step == self._total

    def _step(self) -> None:
        """One training step. Whatever breaks in it leaves `progress` at the step before."""
        step = self.progress.step + 1
        rows, position = self._order.take(self.progress.position)
        tasks = self._parts.tasks.group(rows, self._config.rollout_n, self._config.seed, step)
        started = time.perf_counter()
        trajectories = self._parts.roll(tasks)
        seconds = time.perf_counter() - started
        refuse_failures(f"step {step}", [one.error for one in trajectories], self._config.max_failed_fraction)
        self._trajectories.write(step, tasks, trajectories)
        learned = self._learn(step, trajectories)
        update = time.perf_counter() - started - seconds
        self._random = random_states.capture()
        self.progress = replace(self.progress, step=step, position=position)
        self._log("training", {**rollout_metrics(trajectories, seconds), **learned, "time/update": update})

    def _learn(self, step: int, trajectories: Sequence[Trajectory]) -> dict[str, float]:
        rng = torch.Generator().manual_seed(rollout_seed(self._config.seed, step, -1, -1))
        try:
            return self._parts.learned.learner.update(to_samples(trajectories), rng)
        except NonFiniteLossError as error:
            raise diverged(f"step {step}", error, self._folder) from error

    def _evaluate_if_due(self) -> None:
        """Evaluate where the configuration wants it, unless an earlier start has done it."""
        if self.progress.evaluated != self.progress.step and evaluation_due(
            self._config, self.progress.step, self._total
        ):
            metrics = self.evaluate()
            self.progress = replace(self.progress, evaluated=self.progress.step)
            self._log("evaluation", metrics)

    def _log(self, phase: Phase, metrics: dict[str, float]) -> None:
        self.metrics.update(metrics)
        self._tracker.log(phase, self.progress.step, metrics)


def diverged(where: str, error: NonFiniteLossError, folder: LocalRunFolder) -> DivergedError:
    """Save the samples that the number came from, and say where the run stopped."""
    path = folder.write_lines(FAILED_BATCH, [vars(sample) for sample in error.samples])
    return DivergedError(
        f"{where}: the {error.quantity} is not a finite number; "
        f"the {len(error.samples)} samples that it came from are in {path}",
        "look at these samples, or lower the learning rate or grad_clip; the checkpoints are those of earlier steps",
    )
