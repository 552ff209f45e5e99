"""Our trainer for training apart from inference, on verl's real class, without Ray: its servers are doubles."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verl_doubles import job_options
from verl_server_doubles import import_verl

if not import_verl():
    pytest.skip("verl is not installed", allow_module_level=True)

import ray
from omegaconf import OmegaConf
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1 import PPOTrainerSeparateAsync, get_trainer_cls, trainer_separate_async

from agentic_rl.backends.errors import FailedRolloutsError, StaleSamplesError, WeightTransferError
from agentic_rl.backends.verl.inside import batch_fields
from agentic_rl.backends.verl.inside.measures import summary_of_strangers
from agentic_rl.backends.verl.inside.names import SEPARATE_TRAINER, TRAINER
from agentic_rl.backends.verl.inside.separate_trainer import SeparateAgenticTrainer

pytestmark = pytest.mark.verl


class Server:
    """An inference server that has the weights of a step; None: it does not answer."""

    def __init__(self, step: int | None) -> None:
        self.global_steps = step
        self.__ray_call__ = SimpleNamespace(remote=lambda function: function(self))


class Apart(SeparateAgenticTrainer):
    """With doubles of what verl makes on Ray."""

    def serve(self, *steps: int | None) -> None:
        replicas = [
            SimpleNamespace(server_address=f"10.0.0.{place}:80", servers=[Server(step)])
            for place, step in enumerate(steps)
        ]
        self.standalone_server_manager = SimpleNamespace(get_replicas=lambda: replicas)


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Apart:
    monkeypatch.setattr(PPOTrainerSeparateAsync, "__init__", lambda self, config: setattr(self, "config", config))
    monkeypatch.setattr(PPOTrainerSeparateAsync, "on_step_begin", lambda self: None)
    monkeypatch.setattr(ray, "get", got)
    job = job_options(tmp_path)
    config = OmegaConf.create(
        {
            "trainer": {
                "v1": {
                    "trainer_mode": SEPARATE_TRAINER,
                    TRAINER: job,
                    "sampler": {"max_off_policy_threshold": 2},
                },
                "default_local_dir": str(tmp_path / "checkpoints"),
            },
            "data": {"train_batch_size": 2},
            "actor_rollout_ref": {"rollout": {"n": 2}},
        }
    )
    OmegaConf.set_struct(config, True)
    made = Apart(config)
    made.global_steps = 3
    return made


def got(values: list[Any], timeout: float) -> list[Any]:
    if None in values:
        raise ray.exceptions.GetTimeoutError(f"not within {timeout}")
    return values


def batch(*versions: int, prompt: str = "u", errors: int = 0) -> tuple[KVBatchMeta, dict[str, list[Any]]]:
    """The rollouts of one prompt, one for each version of the weights; the first `errors` failed."""
    keys = [f"{prompt}_{place}_0" for place in range(len(versions))]
    rollout = summary_of_strangers(1.0, 5)
    extra = [
        {"rollout": {**rollout, "error": "no" if place < errors else "", "written": 0 if place < errors else 5}}
        for place in range(len(versions))
    ]
    fields = {"extra_fields": extra, "uid": [prompt] * len(keys)}
    tags = [{"min_global_steps": version} for version in versions]
    return KVBatchMeta(keys=keys, tags=tags, partition_id="train"), fields


def look(trainer: Apart, monkeypatch: pytest.MonkeyPatch, sampled: tuple[KVBatchMeta, dict[str, list[Any]]]) -> None:
    monkeypatch.setattr(batch_fields, "_get", lambda batch, name: sampled[1][name])
    monkeypatch.setattr(batch_fields, "put", lambda batch, **new: None)
    trainer._look_at(sampled[0])


def test_verl_finds_it_and_goes_by_its_own_mode_elsewhere(trainer: Apart) -> None:
    assert get_trainer_cls(SEPARATE_TRAINER) is SeparateAgenticTrainer
    assert trainer.config.trainer.v1.trainer_mode == "separate_async"


def test_a_step_of_two_parts_is_looked_at_as_one(trainer: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer.on_step_begin()
    trainer._part = 1
    look(trainer, monkeypatch, batch(1, 2, prompt="u", errors=1))
    look(trainer, monkeypatch, batch(2, 2, prompt="v"))
    monkeypatch.setattr(PPOTrainerSeparateAsync, "_compute_metrics", lambda *_, **__: None)
    metrics: dict[str, Any] = {}
    whole = KVBatchMeta(keys=["u_0_0", "v_0_0"], tags=[{}, {}], partition_id="train")
    trainer._compute_metrics(whole, metrics, {"gen": 0.1, "step": 3.0}, global_steps=3, epoch=0)
    assert (metrics["samples/stale"], metrics["samples/staleness_max"]) == (1, 1)
    assert metrics["reward/failed_fraction"] == 0.25
    assert metrics["rollout/tokens_per_second"] == 5
    trainer.on_step_begin()
    trainer._compute_metrics(whole, metrics, {}, global_steps=4, epoch=0)
    assert metrics["samples/stale"] == 0


def test_the_first_part_that_learns_is_what_all_are_compared_with(
    trainer: Apart, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[int] = []
    monkeypatch.setattr(
        PPOTrainerSeparateAsync, "_compute_old_log_prob", lambda self, *_: parts.append(self.local_trigger_step)
    )
    for _ in range(2):
        trainer.on_step_begin()
        for number in (1, 2):  # nothing could be learnt from part 0
            trainer.local_trigger_step = number
            trainer._compute_old_log_prob(batch(2)[0], {})
    assert parts == [0, 1, 0, 1]


def test_failures_count_over_all_parts(trainer: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer.on_step_begin()
    trainer._part = 1
    look(trainer, monkeypatch, batch(2, 2, prompt="u", errors=1))
    with pytest.raises(FailedRolloutsError, match="step 3: 3 of 4 rollouts failed"):
        look(trainer, monkeypatch, batch(2, 2, prompt="v", errors=2))


def test_only_what_was_learnt_from_is_measured_by_verl(trainer: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer.on_step_begin()
    trainer._step.skipped.add("u_0_0")
    measured: list[list[str]] = []
    monkeypatch.setattr(
        PPOTrainerSeparateAsync, "_compute_metrics", lambda self, batch, *_, **__: measured.append(batch.keys)
    )
    trainer._step.add(["u_0_0", "v_0_0"], [summary_of_strangers(1.0, 5)] * 2, 2)
    whole = KVBatchMeta(keys=["u_0_0", "v_0_0"], tags=[{"a": 1}, {"a": 2}], partition_id="train")
    trainer._compute_metrics(whole, {}, {}, global_steps=3, epoch=0)
    assert measured == [["v_0_0"]]


def test_a_sample_of_weights_two_steps_old_ends_the_run(trainer: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer.on_step_begin()
    with pytest.raises(StaleSamplesError, match=r"step 3: the sample u_1_0 .* 2 steps old, and at most 1"):
        look(trainer, monkeypatch, batch(2, 0))


def test_every_server_has_to_have_the_new_weights(trainer: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        PPOTrainerSeparateAsync, "on_step_end", lambda self: setattr(self, "_pending_sync_metrics", {"a": 1.0})
    )
    trainer.serve(3, 3)
    trainer.on_step_end()
    assert trainer._pending_sync_metrics == {"a": 1.0, "weights/acknowledging_servers": 2, "weights/version": 3}
    trainer.serve(3, 2)
    with pytest.raises(WeightTransferError, match=r"10\.0\.0\.1:80 has the weights of step 2, not those of step 3"):
        trainer.on_step_end()
    trainer.serve(3, None)
    with pytest.raises(WeightTransferError, match="did not acknowledge the weights of step 3 within"):
        trainer.on_step_end()


def test_the_first_weights_are_acknowledged_too(trainer: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PPOTrainerSeparateAsync, "on_init_end", lambda self: None)
    trainer.serve(None)
    with pytest.raises(WeightTransferError):
        trainer.on_init_end()


def test_verls_message_that_can_not_be_logged_is_not(trainer: Apart, monkeypatch: pytest.MonkeyPatch) -> None:
    logger = trainer_separate_async.logger
    monkeypatch.setattr(PPOTrainerSeparateAsync, "_setup", lambda self: logger.info("of verl", flush=True))
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        trainer._setup()
        assert logger.level == logging.INFO
    finally:
        logger.setLevel(before)
