"""verl's trainers with what this product adds: failures that count, whole checkpoints, an orderly stop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import transfer_queue as tq
from omegaconf import DictConfig, OmegaConf, open_dict
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback
from verl.trainer.ppo.v1 import PPOTrainer, PPOTrainerSync, register_trainer
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from agentic_rl.backends.errors import StopRequestedError
from agentic_rl.backends.failed_rollouts import refuse_failures
from agentic_rl.backends.local.trajectory_log import TrajectoryLog
from agentic_rl.backends.run_folder import TRAJECTORIES
from agentic_rl.backends.verl.inside import batch_fields
from agentic_rl.backends.verl.inside.advantages import groups_of, normalised_rewards
from agentic_rl.backends.verl.inside.events import Events
from agentic_rl.backends.verl.inside.job import JobOptions
from agentic_rl.backends.verl.inside.measures import LOST, Summary, by_session, evaluation_measures
from agentic_rl.backends.verl.inside.names import TRAINER
from agentic_rl.backends.verl.inside.pruning import point_to, prune
from agentic_rl.backends.verl.inside.records import rollouts_of
from agentic_rl.backends.verl.inside.step_record import StepRecord
from agentic_rl.tracking import LineFile

POLL_SECONDS = 0.2


class _NothingToLearnError(Exception):
    """The policy has written no token of this batch that counts."""

    def __init__(self, batch: tq.KVBatchMeta) -> None:
        super().__init__()
        self.batch = batch


class Agentic(PPOTrainer):
    """Overrides hooks and steps of the trainer of verl that a class of ours also derives from.

    `trainer.v1.agentic_rl` of the configuration has the `JobOptions`. To the rest of verl the mode is verl's own again:
    its other checks and choices go by that name.
    """

    mode: ClassVar[str]
    """verl's."""

    def __init__(self, config: DictConfig) -> None:
        self._job = JobOptions(**OmegaConf.to_container(config.trainer.v1[TRAINER]))
        self._events = Events(self._job.events)
        self._step = StepRecord()
        self._part = config.data.train_batch_size
        self._saved_step = -1
        self._stopping = False
        self.checkpoint_callback: CheckpointCallback  # verl sets it
        with open_dict(config):
            config.trainer.v1.trainer_mode = self.mode
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
        self._step = StepRecord()
        super().on_step_begin()
        self._events.say(begins=True, step=self.global_steps)

    def on_step_end(self) -> None:
        """Save for a stop before the engine has the new weights, as verl saves."""
        if Path(self._job.stop_file).exists():
            self._stopping = True
            if self._saved_step != self.global_steps:
                self._save_checkpoint()
        super().on_step_end()

    # ------------------------------ rollouts ------------------------------

    def _build_replay_buffer(self) -> ReplayBuffer:
        """Look more often for finished rollouts than verl, which would wait up to 2 s at the end of every step."""
        buffer = super()._build_replay_buffer()
        buffer.poll_interval = min(buffer.poll_interval, POLL_SECONDS)
        return buffer

    def _step_once(self, metrics: dict[str, Any], timing_raw: dict[str, float], sample_batch_size: int) -> Any:
        """Leave out a batch from which nothing can be learnt: verl has no loss of no tokens."""
        self._part = sample_batch_size
        try:
            return super()._step_once(metrics, timing_raw, sample_batch_size)
        except _NothingToLearnError as skipped:
            self._step.skipped.update(skipped.batch.keys)
            return skipped.batch

    def _balance_batch(self, batch: tq.KVBatchMeta, *args: Any, **kwargs: Any) -> tq.KVBatchMeta:
        """Look at the sampled batch before verl fills it up.

        Raises:
            FailedRolloutsError: more than `max_failed_fraction` of the rollouts failed.
        """
        self._look_at(batch)
        return super()._balance_batch(batch, *args, **kwargs)

    def _look_at(self, batch: tq.KVBatchMeta) -> None:
        summaries, n = batch_fields.summaries(batch), self.config.actor_rollout_ref.rollout.n
        rollouts = by_session(batch.keys, summaries)
        first, step = self._step.prompts, self._step
        written = step.add(batch.keys, list(rollouts.values()), self._part * n)
        rest = max(self.config.data.train_batch_size * n - step.expected, 0)
        refuse_failures(f"step {self.global_steps}", [*step.reasons, *[""] * rest], self._job.max_failed_fraction)
        self._write_down(batch, summaries, first)
        if not written:
            raise _NothingToLearnError(batch)
        if any(rollout["error"] for rollout in rollouts.values()):
            batch_fields.put(batch, uid=groups_of(batch.keys, batch_fields.uids(batch), rollouts))

    def _write_down(self, batch: tq.KVBatchMeta, summaries: Sequence[Summary], first: int) -> None:
        tasks, trajectories = rollouts_of(batch.keys, batch_fields.records(batch), summaries, first)
        if not tasks:
            return
        algorithm = self.config.algorithm
        by_reward = algorithm.adv_estimator == "grpo" and not algorithm.get("use_kl_in_reward", False)
        by_reward = by_reward and algorithm.get("norm_adv_by_std_in_grpo", True)
        own = Path(self.config.trainer.default_local_dir) / TRAJECTORIES
        for path in (own, *([Path(self._job.trajectories)] if self._job.trajectories else [])):
            with closing(LineFile(path)) as file:
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
        learnt = [place for place, key in enumerate(batch.keys) if key not in self._step.skipped]
        if learnt:
            super()._compute_metrics(_some(batch, learnt), metrics, timing_raw, **rest)
        else:
            metrics |= {"training/global_step": rest["global_steps"], "training/epoch": rest["epoch"]}
            metrics |= {f"timing_s/{name}": seconds for name, seconds in timing_raw.items()}
        metrics |= self._step.measures()
        if timing_raw.get("gen"):
            metrics["rollout/tokens_per_second"] = self._step.written / timing_raw["gen"]

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


def _some(batch: tq.KVBatchMeta, places: Sequence[int]) -> tq.KVBatchMeta:
    """The samples at `places`: the others lack the fields that only learning makes."""
    if len(places) == len(batch.keys):
        return batch
    return tq.KVBatchMeta(
        partition_id=batch.partition_id,
        keys=[batch.keys[place] for place in places],
        tags=[batch.tags[place] for place in places],
    )


@register_trainer(TRAINER)
class AgenticTrainer(Agentic, PPOTrainerSync):
    """Training and inference take turns on the same devices."""

    mode = "sync"
