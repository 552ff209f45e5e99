"""One start of a run: from the newest checkpoint, or from the beginning with the warm-up, to the end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from transformers.utils.logging import disable_progress_bar

from agentic_rl.agents import Task, ToolAgent
from agentic_rl.backends.base import ExitReason, TrainResult
from agentic_rl.backends.errors import StopRequestedError
from agentic_rl.backends.interrupts import Interrupts
from agentic_rl.backends.local import random_states
from agentic_rl.backends.local.assembly import Roller, build_agent, build_policy, read_tasks, user_errors
from agentic_rl.backends.local.checkpoint import Learned, load_weights
from agentic_rl.backends.local.checkpoint_store import EVERYTHING, Checkpoint
from agentic_rl.backends.local.data import conversations
from agentic_rl.backends.local.data_files import DataFile
from agentic_rl.backends.local.evaluation import evaluate
from agentic_rl.backends.local.learner import Learner, NonFiniteLossError
from agentic_rl.backends.local.loop import Parts, TrainingLoop, diverged
from agentic_rl.backends.local.progress import Progress, changed_settings
from agentic_rl.backends.local.run_folder import LocalRunFolder
from agentic_rl.backends.local.settings import SFT_FILES, TRAIN_FILES, VAL_FILES, local_section, resolved
from agentic_rl.backends.local.warmup import supervised_warmup
from agentic_rl.tracking import Tracker

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded


class Run:
    """Trains or evaluates in one run folder; everything that costs time begins here."""

    def __init__(self, loaded: Loaded, folder: LocalRunFolder, tracker: Tracker, interrupts: Interrupts) -> None:
        self._loaded = loaded
        self._config = loaded.require_flat()
        self._section = local_section(self._config)
        self._folder = folder
        self._tracker = tracker
        self._interrupts = interrupts
        disable_progress_bar()  # transformers' own, which would break ours
        random_states.seed_all(self._config.seed)
        self._agent = build_agent(loaded)
        self._policy = build_policy(loaded)

    def train(self, checkpoint: Checkpoint | None, total: int) -> TrainResult:
        """Train up to step `total`, from `checkpoint` where there is one.

        Raises:
            TrainingError: the job failed.
        """
        self._folder.describe(resolved(self._config))
        with contextlib.closing(self._roller()) as roll:
            try:
                loop = self._resumed(roll, checkpoint, total) if checkpoint else self._begun(roll, total)
            except StopRequestedError:
                return TrainResult(0, "interrupted")
            try:
                loop.run()
            except StopRequestedError:
                return self._interrupted(loop)
            return self._result(loop, "finished")

    def evaluate(self, checkpoint: Checkpoint | None) -> dict[str, float]:
        """Evaluate the policy of `checkpoint`, or the untrained one.

        Raises:
            StopRequestedError: a stop was asked for.
            TrainingError: the job failed.
        """
        if checkpoint is not None:
            load_weights(self._policy.model, checkpoint.path)
        held_out = read_tasks(self._loaded, VAL_FILES)
        with contextlib.closing(self._roller()) as roll:
            return evaluate(held_out, self._config, roll)

    def _roller(self) -> Roller:
        return Roller(self._config, self._policy, self._agent, self._interrupts)

    def _begun(self, roll: Roller, total: int) -> TrainingLoop:
        """A run from the beginning: with the warm-up, if there is one, and a checkpoint of what it gave."""
        self._folder.cut({})
        if self._section.sft_files is not None:
            self._warm_up()
        loop = self._training(roll, self._learned(total), Progress(settings=resolved(self._config)), total)
        if self._section.sft_files is not None:
            loop.save(EVERYTHING)
        return loop

    def _resumed(self, roll: Roller, checkpoint: Checkpoint, total: int) -> TrainingLoop:
        """A run that goes on where `checkpoint` was written; lines of later steps are cut off."""
        learned = self._learned(total)
        learned.load(checkpoint)
        progress = Progress.read(checkpoint.path)
        self._tracker.note(f"going on from {checkpoint.path}")
        for name in self._folder.cut(progress.lengths):
            self._tracker.note(f"warning: {name} is not what the run wrote; its lines of later steps stay")
        changes = changed_settings(progress.settings, resolved(self._config))
        if changes:
            self._tracker.note(f"warning: changed since that checkpoint was written: {'; '.join(changes)}")
        return self._training(roll, learned, replace(progress, settings=resolved(self._config)), total)

    def _learned(self, total: int) -> Learned:
        """The learner takes the policy as it is now as its reference."""
        policy = self._policy
        learner = Learner(policy.model, self._config, self._section, total, policy.pad_id)
        return Learned(policy.model, policy.tokenizer, learner)

    def _training(self, roll: Roller, learned: Learned, progress: Progress, total: int) -> TrainingLoop:
        parts = Parts(learned, roll, read_tasks(self._loaded, TRAIN_FILES), read_tasks(self._loaded, VAL_FILES))
        return TrainingLoop(
            self._config,
            self._section,
            parts,
            folder=self._folder,
            tracker=self._tracker,
            interrupts=self._interrupts,
            progress=progress,
            total=total,
        )

    def _warm_up(self) -> None:
        shown = conversations(DataFile.of(self._loaded, SFT_FILES).table(("messages",)))
        self._tracker.begin("warm-up", self._section.sft_steps, 0)
        policy = self._policy
        try:
            with user_errors():
                tools = asyncio.run(self._agent.tools_for(Task([]))) if isinstance(self._agent, ToolAgent) else None
                supervised_warmup(
                    policy.model,
                    policy.chat_format,
                    shown,
                    self._section,
                    self._config.seed,
                    on_step=self._on_warm_step,
                    tools=tools,
                )
        except NonFiniteLossError as error:
            raise diverged("warm-up", error, self._folder) from error

    def _on_warm_step(self, step: int, metrics: Mapping[str, float]) -> None:
        self._tracker.log("warm-up", step, metrics)
        self._interrupts.check()

    def _interrupted(self, loop: TrainingLoop) -> TrainResult:
        loop.save_if_newer()
        return self._result(loop, "interrupted")

    def _result(self, loop: TrainingLoop, reason: ExitReason) -> TrainResult:
        newest = self._folder.checkpoints.path(loop.progress.step)
        checkpoint = newest if newest.exists() else None
        return TrainResult(loop.progress.step, reason, dict(loop.metrics), checkpoint)
