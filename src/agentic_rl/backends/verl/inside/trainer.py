"""verl's synchronous trainer with what this product adds: failures that count, whole checkpoints, an orderly stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import transfer_queue as tq
from omegaconf import DictConfig, OmegaConf, open_dict
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback
from verl.trainer.ppo.v1 import PPOTrainerSync, register_trainer

from agentic_rl.backends.errors import StopRequestedError
from agentic_rl.backends.failed_rollouts import refuse_failures
from agentic_rl.backends.local.trajectory_log import TrajectoryLog
from agentic_rl.backends.run_folder import TRAJECTORIES
from agentic_rl.backends.verl.inside import batch_fields
from agentic_rl.backends.verl.inside.advantages import groups_of, normalised_rewards
from agentic_rl.backends.verl.inside.events import Events
from agentic_rl.backends.verl.inside.job import JobOptions
from agentic_rl.backends.verl.inside.measures import (
    LOST,
    Summary,
    by_session,
    evaluation_measures,
    reasons,
    step_measures,
)
from agentic_rl.backends.verl.inside.names import TRAINER
from agentic_rl.backends.verl.inside.pruning import point_to, prune
from agentic_rl.backends.verl.inside.records import rollouts_of
from agentic_rl.tracking import LineFile


class _NothingToLearnError(Exception):
    """The policy has written no token of this batch that counts."""

    def __init__(self, batch: tq.KVBatchMeta) -> None:
        super().__init__()
        self.batch = batch


@register_trainer(TRAINER)
class AgenticTrainer(PPOTrainerSync):
    """Overrides hooks and steps of verl's trainer; `trainer.v1.agentic_rl` of the configuration has its `JobOptions`.

    To the rest of verl the mode is `sync` again: its other checks and choices go by that name.
    """

    def __init__(self, config: DictConfig) -> None:
        self._job = JobOptions(**OmegaConf.to_container(config.trainer.v1[TRAINER]))
        self._events = Events(self._job.events)
        self._measured: dict[str, float] = {}
        self._written = 0
        self._learnt = True
        self._saved_step = -1
        self._stopping = False
        self.checkpoint_callback: CheckpointCallback  # verl sets it
        with open_dict(config):
            config.trainer.v1.trainer_mode = "sync"
        super().__init__(config)

    # ------------------------------ stages ------------------------------

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        self._events.say("loading the models")

    def _load_checkpoint(self) -> None:
        self._events.say("models loaded")
        super()._load_checkpoint()
        if self.global_steps:
            self._events.say(f"resumed from step {self.global_steps}", step=self.global_steps)

    def on_init_end(self) -> None:
        """Say when the engine has the weights."""
        super().on_init_end()
        self._events.say("engine ready")

    def on_train_begin(self) -> None:
        """Say how much there is to do; the first step is counted already."""
        super().on_train_begin()
        self._events.say(total=self.total_training_steps, done=self.global_steps - 1)

    def on_validate_begin(self) -> None:
        """Say so."""
        super().on_validate_begin()
        self._events.say("validation begins", begins=True)

    def on_validate_end(self) -> None:
        """Say so."""
        super().on_validate_end()
        self._events.say("validation ends")

    def on_step_begin(self) -> None:
        """Stop here, where the last step is measured and logged, if that was asked for.

        Raises:
            StopRequestedError: with the step that is saved.
        """
        if self._stopping:
            self._shutdown_dump_executor()
            raise StopRequestedError(self.global_steps - 1)
        super().on_step_begin()
        self._events.say(begins=True, step=self.global_steps)

    def on_step_end(self) -> None:
        """Save for a stop while the engine still sleeps, as verl saves."""
        if Path(self._job.stop_file).exists():
            self._stopping = True
            if self._saved_step != self.global_steps:
                self._save_checkpoint()
        super().on_step_end()

    # ------------------------------ rollouts ------------------------------

    def _step_once(self, *args: Any, **kwargs: Any) -> tq.KVBatchMeta:
        """Leave out a step from which nothing can be learnt: verl has no loss of no tokens."""
        try:
            batch = super()._step_once(*args, **kwargs)
        except _NothingToLearnError as skipped:
            self._learnt = False
            return skipped.batch
        self._learnt = True
        return batch

    def _balance_batch(self, batch: tq.KVBatchMeta, *args: Any, **kwargs: Any) -> tq.KVBatchMeta:
        """Look at the sampled batch before verl fills it up.

        Raises:
            FailedRolloutsError: more than `max_failed_fraction` of the rollouts failed.
        """
        self._look_at(batch)
        return super()._balance_batch(batch, *args, **kwargs)

    def _look_at(self, batch: tq.KVBatchMeta) -> None:
        summaries = batch_fields.summaries(batch)
        rollouts = by_session(batch.keys, summaries)
        expected = self.config.data.train_batch_size * self.config.actor_rollout_ref.rollout.n
        expected = max(expected, len(rollouts))  # a manager of the user's own may sample more
        refuse_failures(
            f"step {self.global_steps}", reasons(rollouts.values(), expected), self._job.max_failed_fraction
        )
        self._write_down(batch, summaries)
        whole = [rollout for rollout in rollouts.values() if not rollout["error"]]
        self._measured = step_measures(list(rollouts.values()), expected)
        self._measured["samples/mean"] = len(batch.keys) / max(len(rollouts), 1)
        self._written = sum(int(rollout["written"]) for rollout in whole)
        if not self._written:
            raise _NothingToLearnError(batch)
        if len(whole) < len(rollouts):
            batch_fields.put(batch, uid=groups_of(batch.keys, batch_fields.uids(batch), rollouts))

    def _write_down(self, batch: tq.KVBatchMeta, summaries: Sequence[Summary]) -> None:
        tasks, trajectories = rollouts_of(batch.keys, batch_fields.records(batch), summaries)
        if not tasks:
            return
        algorithm = self.config.algorithm
        by_reward = algorithm.adv_estimator == "grpo" and not algorithm.get("use_kl_in_reward", False)
        by_reward = by_reward and algorithm.get("norm_adv_by_std_in_grpo", True)
        with closing(LineFile(Path(self.config.trainer.default_local_dir) / TRAJECTORIES)) as file:
            log = TrajectoryLog(file, self.total_training_steps, by_reward=by_reward)
            log.write(self.global_steps, tasks, trajectories)

    def _compute_advantage(self, batch: tq.KVBatchMeta, metrics: dict[str, Any]) -> tq.KVBatchMeta:
        """With `gae` and stepwise samples, put the normalised reward on every step; for GRPO verl does it."""
        if not (self._job.stepwise and self.config.algorithm.adv_estimator == "gae"):
            return super()._compute_advantage(batch, metrics)
        raw = batch_fields.rewards(batch)
        by_deviation = self.config.algorithm.get("norm_adv_by_std_in_grpo", True)
        normalised = normalised_rewards(
            batch.keys, batch_fields.uids(batch), [float(row.sum()) for row in raw], by_deviation=by_deviation
        )
        batch_fields.put(
            batch, rm_scores=[batch_fields.on_last(row, at) for row, at in zip(raw, normalised, strict=True)]
        )
        try:
            return super()._compute_advantage(batch, metrics)
        finally:
            batch_fields.put(batch, rm_scores=raw)  # what is measured and logged is the agent's own reward

    def _compute_metrics(
        self, batch: tq.KVBatchMeta, metrics: dict[str, Any], timing_raw: Mapping[str, float], **rest: Any
    ) -> None:
        """Add our measurements; those that verl makes under the same name count samples, not rollouts."""
        if self._learnt:
            super()._compute_metrics(batch, metrics, timing_raw, **rest)
        else:
            metrics |= {"training/global_step": rest["global_steps"], "training/epoch": rest["epoch"]}
            metrics |= {f"timing_s/{name}": seconds for name, seconds in timing_raw.items()}
        metrics |= self._measured
        if timing_raw.get("gen"):
            metrics["rollout/tokens_per_second"] = self._written / timing_raw["gen"]

    def _val_metrics_update(
        self,
        data_sources: Sequence[str],
        sample_uids: Sequence[str],
        reward_extra_infos_dict: Mapping[str, Sequence[Any]],
        sample_turns: Sequence[int],
        expected_acc_counts: Mapping[tuple[str, str], int] | None = None,
    ) -> dict[str, float]:
        """Add our names for the evaluation.

        Raises:
            FailedRolloutsError: more than `max_failed_fraction` of the rollouts failed.
        """
        rewards = list(reward_extra_infos_dict["reward"])
        errors = [error or "" for error in reward_extra_infos_dict.get("error", [""] * len(rewards))]
        lost = max(sum((expected_acc_counts or {}).values()) - len(rewards), 0)
        refuse_failures("evaluation", [*errors, *[LOST] * lost], self._job.max_failed_fraction)
        metrics = super()._val_metrics_update(
            data_sources, sample_uids, reward_extra_infos_dict, sample_turns, expected_acc_counts=expected_acc_counts
        )
        return {**metrics, **evaluation_measures(rewards, list(map(str, data_sources)), sum(map(bool, errors)))}

    # ------------------------------ checkpoints ------------------------------

    def _save_checkpoint(self) -> None:
        """Save, then name the new checkpoint, then remove older ones: a killed process leaves a whole one."""
        with self._pointer_left_to_us() as callback:
            super()._save_checkpoint()
        self._saved_step = self.global_steps
        folder = Path(self.config.trainer.default_local_dir)
        path = folder / f"global_step_{self.global_steps}"
        point_to(folder, self.global_steps)
        callback.on_save(trainer=self, global_step=self.global_steps, checkpoint_dir=str(path), async_save=False)
        prune(folder, self.global_steps, self._job.keep_checkpoints)
        self._events.say(f"saved checkpoint {path}", step=self.global_steps)

    @contextmanager
    def _pointer_left_to_us(self) -> Iterator[CheckpointCallback]:
        """Let verl save without naming the checkpoint, which it does in a way that a kill leaves an empty file.

        It leaves both the name and the callback's promise to others where the workers write on after the save. Ours
        don't: they have their own copy of the configuration.
        """
        checkpoint = self.config.actor_rollout_ref.actor.checkpoint
        callback = self.checkpoint_callback
        with open_dict(checkpoint):
            before = checkpoint.get("async_save", False)
            checkpoint.async_save = True
            self.checkpoint_callback = CheckpointCallback()
            try:
                yield callback
            finally:
                checkpoint.async_save, self.checkpoint_callback = before, callback
