"""Training and inference apart: verl's `separate_async` with what our trainer adds, and at most one step between them.

While step N learns, the inference servers already write the samples of step N + 1, with the weights that step N - 1
has left. `trainer.v1.sampler` keeps that distance: with `max_off_policy_threshold: 2` and `wait` no sample of a step is
taken while a prompt of the step before is unfinished, and with at most one batch ahead the older prompts come first.
Here it is looked at, sample by sample.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import ray
import transfer_queue as tq
from omegaconf import DictConfig
from verl.trainer.ppo.v1 import PPOTrainerSeparateAsync, register_trainer, trainer_separate_async

from agentic_rl.backends.errors import WeightTransferError
from agentic_rl.backends.verl.inside.names import SEPARATE_TRAINER
from agentic_rl.backends.verl.inside.step_record import Staleness
from agentic_rl.backends.verl.inside.trainer import Agentic
from agentic_rl.backends.verl.inside.weight_transfer import DEFAULT_LIMIT, LIMIT


@register_trainer(SEPARATE_TRAINER)
class SeparateAgenticTrainer(Agentic, PPOTrainerSeparateAsync):
    """Training on its own devices, inference servers on theirs."""

    mode = "separate_async"

    def __init__(self, config: DictConfig) -> None:
        super().__init__(config)
        self._staleness = Staleness(0)
        self._learnt = 0
        threshold = config.trainer.v1.sampler.max_off_policy_threshold
        self._oldest = None if threshold is None else threshold - 1

    def _setup(self) -> None:
        with _quiet(trainer_separate_async.logger):
            super()._setup()

    def on_init_end(self) -> None:
        """Give the servers the weights that training begins with."""
        super().on_init_end()
        self._require_acknowledged()

    def on_step_begin(self) -> None:
        """Begin to count."""
        super().on_step_begin()
        self._staleness = Staleness(self.global_steps)
        self._learnt = 0

    def on_step_end(self) -> None:
        """Give the servers the new weights.

        Raises:
            WeightTransferError: a server does not have them.
        """
        super().on_step_end()
        servers = self._require_acknowledged()
        self._pending_sync_metrics |= {
            "weights/acknowledging_servers": float(servers),
            "weights/version": float(self.global_steps),
        }

    def _require_acknowledged(self) -> int:
        """Ask every inference server for the step of its weights; return the number of servers."""
        replicas = self.standalone_server_manager.get_replicas()
        asked = [replica.servers[0].__ray_call__.remote(_version_of) for replica in replicas]
        limit = float(os.environ.get(LIMIT, DEFAULT_LIMIT))
        try:
            versions = ray.get(asked, timeout=limit)
        except ray.exceptions.GetTimeoutError as error:
            message = f"an inference server did not acknowledge the weights of step {self.global_steps}"
            raise WeightTransferError(f"{message} within {limit:g} s", f"{LIMIT} sets the limit in seconds") from error
        for replica, version in zip(replicas, versions, strict=True):
            if version != self.global_steps:
                raise WeightTransferError(
                    f"the inference server at {replica.server_address} has the weights of step {version}, "
                    f"not those of step {self.global_steps}",
                    "its log has the cause; the same command goes on from the last checkpoint",
                )
        return len(replicas)

    def _look_at(self, batch: tq.KVBatchMeta) -> None:
        self._staleness.add(batch.keys, batch.tags, self._oldest)
        super()._look_at(batch)

    def _compute_old_log_prob(self, batch: tq.KVBatchMeta, metrics: dict[str, Any]) -> tq.KVBatchMeta:
        """Count the parts that learn: verl keeps the weights of the first as those that all are compared with."""
        self.local_trigger_step = self._learnt
        self._learnt += 1
        return super()._compute_old_log_prob(batch, metrics)

    def _compute_metrics(
        self, batch: tq.KVBatchMeta, metrics: dict[str, Any], timing_raw: Mapping[str, float], **rest: Any
    ) -> None:
        """Add how many samples are stale; rollouts are written during the whole step, not while it waits for them."""
        super()._compute_metrics(batch, metrics, timing_raw, **rest)
        metrics |= self._staleness.measures()
        if timing_raw.get("step"):
            metrics["rollout/tokens_per_second"] = self._step.written / timing_raw["step"]


def _version_of(server: Any) -> int | None:
    version: int | None = server.global_steps
    return version


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Without the logger's messages below warnings: with `hybrid_engine: false` verl writes one in a way that fails."""
    before = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(before)
