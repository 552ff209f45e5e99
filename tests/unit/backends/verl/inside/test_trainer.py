"""Our trainer's hooks on verl's real class, without Ray: its worker groups and its TransferQueue are doubles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from verl_doubles import job_options
from verl_server_doubles import import_verl

if not import_verl():
    pytest.skip("verl is not installed", allow_module_level=True)

import torch
from omegaconf import OmegaConf
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.checkpoint_callback import CheckpointCallback
from verl.trainer.ppo.v1 import PPOTrainerSync, get_trainer_cls

from agentic_rl.agents.task import Task
from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.backends.errors import FailedRolloutsError, StopRequestedError
from agentic_rl.backends.verl.checkpoints import POINTER
from agentic_rl.backends.verl.inside import batch_fields
from agentic_rl.backends.verl.inside.measures import LOST, summary_of_strangers
from agentic_rl.backends.verl.inside.names import TRAINER
from agentic_rl.backends.verl.inside.records import packed
from agentic_rl.backends.verl.inside.trainer import AgenticTrainer

pytestmark = pytest.mark.verl


class Saves:
    """A worker group."""

    def __init__(self) -> None:
        self.fails = False

    def save_checkpoint(self, path: str, *_: Any, **__: Any) -> None:
        Path(path).mkdir(parents=True)
        if self.fails:
            raise OSError(28, "No space left on device")


class Told(CheckpointCallback):
    """A user's callback: what it was told, and what the pointer said then."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.calls: list[tuple[int, bool, str]] = []

    def on_save(self, trainer: Any, global_step: int, checkpoint_dir: str, async_save: bool = False, **_: Any) -> None:
        self.calls.append((global_step, async_save, (self.folder / POINTER).read_text()))


@pytest.fixture
def trainer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgenticTrainer:
    monkeypatch.setattr(PPOTrainerSync, "__init__", lambda self, config: setattr(self, "config", config))
    job = job_options(tmp_path)
    config = OmegaConf.create(
        {
            "trainer": {
                "v1": {"trainer_mode": TRAINER, TRAINER: job},
                "default_local_dir": str(tmp_path / "checkpoints"),
                "default_hdfs_dir": None,
            },
            "data": {"train_batch_size": 2},
            "algorithm": {"adv_estimator": "grpo"},
            "actor_rollout_ref": {"actor": {"checkpoint": {"async_save": False}}, "rollout": {"n": 2}},
        }
    )
    OmegaConf.set_struct(config, True)
    made = AgenticTrainer(config)
    made.global_steps = 3
    made.trainer_mode = "sync"
    made.use_critic = False
    made.actor_rollout_wg = Saves()
    made.train_dataloader = SimpleNamespace(state_dict=dict)
    made.checkpoint_callback = Told(tmp_path / "checkpoints")
    made.checkpoint_manager = SimpleNamespace(update_weights=lambda step: None)
    made.timing_raw = {}
    made._init_dump_executor()
    return made


def use(monkeypatch: pytest.MonkeyPatch, fields: dict[str, list[Any]]) -> None:
    def put(batch: KVBatchMeta, **new: Sequence[Any]) -> None:
        fields.update({name: list(values) for name, values in new.items()})

    monkeypatch.setattr(batch_fields, "_get", lambda batch, name: fields[name])
    monkeypatch.setattr(batch_fields, "put", put)


def batch(*errors: str, steps: int = 1) -> tuple[KVBatchMeta, dict[str, list[Any]]]:
    """Two rollouts of each prompt, one for each error; an empty error is a rollout that did not fail."""
    keys, extra = [], []
    for place, error in enumerate(errors):
        summary = {**summary_of_strangers(1.0, 5), "error": error, "written": 0 if error else 5}
        keys += [f"u{place // 2}_{place % 2}_{index}" for index in range(steps)]
        extra += [{"rollout": summary}] * steps
    fields = {"extra_fields": extra, "uid": [key.split("_")[0] for key in keys]}
    return KVBatchMeta(keys=keys, tags=[{}] * len(keys), partition_id="train"), fields


def events(trainer: AgenticTrainer) -> list[Mapping[str, Any]]:
    path = Path(trainer._job.events)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def checkpoints(trainer: AgenticTrainer) -> list[str]:
    return sorted(path.name for path in Path(trainer.config.trainer.default_local_dir).iterdir())


def test_verl_finds_our_trainer_and_goes_by_its_own_mode_elsewhere(trainer: AgenticTrainer) -> None:
    assert get_trainer_cls(TRAINER) is AgenticTrainer
    assert trainer.config.trainer.v1.trainer_mode == "sync"


def test_the_rollouts_of_a_step_are_written_down(trainer: AgenticTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    sampled, fields = batch("", "no", "", "", steps=2)
    record = packed(Trajectory([1], [2], [1], trajectory_reward=1.0), Task(prompt=[]))
    fields["extra_fields"] = [
        {**extra, "record": record if key.endswith("_0") else b""}
        for key, extra in zip(sampled.keys, fields["extra_fields"], strict=True)
    ]
    use(monkeypatch, fields)
    monkeypatch.setattr(PPOTrainerSync, "_balance_batch", lambda self, batch, *args, **rest: batch)
    folder = Path(trainer.config.trainer.default_local_dir)
    folder.mkdir()
    trainer.total_training_steps = 9
    trainer._balance_batch(sampled, {})
    lines = [json.loads(line) for line in (folder / "trajectories.jsonl").read_text().splitlines()]
    assert [(line["step"], line["idx"], line["sample"], line["error"], line["advantage"]) for line in lines] == [
        (3, 0, 0, "", 1.0),
        (3, 0, 1, "no", 0.0),
        (3, 1, 0, "", 0.0),
        (3, 1, 1, "", 0.0),
    ]


def test_the_samples_of_failed_rollouts_are_alone_in_their_group(
    trainer: AgenticTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled, fields = batch("", "no", "", "", steps=2)
    use(monkeypatch, fields)
    trainer._look_at(sampled)
    assert fields["uid"] == ["u0", "u0", "u0-failed-1", "u0-failed-1", "u1", "u1", "u1", "u1"]
    metrics = {"timing_s/x": 1.0}
    monkeypatch.setattr(PPOTrainerSync, "_compute_metrics", lambda *_, **__: metrics.update({"reward/mean": 9.0}))
    trainer._compute_metrics(sampled, metrics, {"gen": 2.0}, global_steps=3, epoch=0)
    assert (metrics["reward/failed_fraction"], metrics["reward/mean"]) == (0.25, 1.0)
    assert metrics["rollout/tokens_per_second"] == 15 / 2


def test_too_many_failures_end_the_run_with_the_reason(
    trainer: AgenticTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampled, fields = batch("", "ValueError: no", "ValueError: no", "ValueError: no")
    use(monkeypatch, fields)
    with pytest.raises(FailedRolloutsError, match=r"step 3: 3 of 4 rollouts failed.*ValueError: no"):
        trainer._look_at(sampled)


def test_groups_that_verl_lost_count_as_failed(trainer: AgenticTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    sampled, fields = batch("")
    use(monkeypatch, fields)
    with pytest.raises(FailedRolloutsError, match="3 of 4") as caught:
        trainer._look_at(sampled)
    assert LOST in str(caught.value)


def test_a_step_with_nothing_to_learn_is_left_out(trainer: AgenticTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer._job = type(trainer._job)(**{**vars(trainer._job), "max_failed_fraction": 1.0})
    sampled, fields = batch("no", "no", "no", "no")
    use(monkeypatch, fields)
    done: list[str] = []

    def step_of_verl(self: AgenticTrainer, *_: Any) -> KVBatchMeta:
        self._balance_batch(sampled, metrics={})
        done.append("learnt")
        return sampled

    monkeypatch.setattr(PPOTrainerSync, "_step_once", step_of_verl)
    monkeypatch.setattr(PPOTrainerSync, "_balance_batch", lambda self, batch, metrics: batch)
    assert trainer._step_once({}, {}, 2) is sampled
    metrics: dict[str, Any] = {}
    trainer._compute_metrics(sampled, metrics, {"gen": 2.0}, global_steps=3, epoch=1)
    assert (metrics["training/global_step"], metrics["reward/failed_fraction"], done) == (3, 1.0, [])
    sampled, fields = batch("", "", "", "")
    use(monkeypatch, fields)
    trainer._step_once({}, {}, 2)
    assert done == ["learnt"]


def test_gae_of_steps_learns_from_normalised_rewards_and_measures_the_raw_ones(
    trainer: AgenticTrainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer._job = type(trainer._job)(**{**vars(trainer._job), "stepwise": True})
    trainer.config.algorithm.adv_estimator = "gae"
    sampled, fields = batch("", "", steps=2)
    raw = [[0.0, 1.0], [1.0], [0.0, 3.0], [3.0]]
    rewards = torch.nested.as_nested_tensor([torch.tensor(row) for row in raw], layout=torch.jagged)
    fields["rm_scores"] = rewards
    use(monkeypatch, fields)
    monkeypatch.setattr(batch_fields, "rewards", lambda batch: list(fields["rm_scores"]))
    seen: list[list[float]] = []

    def fails(self: AgenticTrainer, *_: Any) -> KVBatchMeta:
        seen.extend(row.tolist() for row in fields["rm_scores"])
        raise ValueError("verl's own")

    monkeypatch.setattr(PPOTrainerSync, "_compute_advantage", fails)
    with pytest.raises(ValueError, match="verl's own"):
        trainer._compute_advantage(sampled, {})
    half = 0.5**0.5
    assert [value for row in seen for value in row] == pytest.approx([0.0, -half, -half, 0.0, half, half], abs=1e-5)
    assert [row.tolist() for row in fields["rm_scores"]] == raw


def test_a_checkpoint_is_named_when_it_is_whole_and_older_ones_go_after_that(trainer: AgenticTrainer) -> None:
    for step in (3, 5, 7):
        trainer.global_steps = step
        trainer._save_checkpoint()
    assert checkpoints(trainer) == ["global_step_5", "global_step_7", POINTER]
    assert trainer.checkpoint_callback.calls == [(3, False, "3"), (5, False, "5"), (7, False, "7")]
    assert not trainer.config.actor_rollout_ref.actor.checkpoint.async_save
    assert [event["step"] for event in events(trainer)] == [3, 5, 7]
    trainer.global_steps, trainer.actor_rollout_wg.fails = 9, True
    with pytest.raises(OSError, match="No space left"):
        trainer._save_checkpoint()
    folder = Path(trainer.config.trainer.default_local_dir)
    assert (folder / POINTER).read_text() == "7"
    assert checkpoints(trainer) == ["global_step_5", "global_step_7", "global_step_9", POINTER]


def test_a_stop_saves_the_step_and_ends_before_the_next(trainer: AgenticTrainer) -> None:
    trainer.on_step_begin()
    trainer.on_step_end()
    assert not Path(trainer.config.trainer.default_local_dir).exists()
    Path(trainer._job.stop_file).touch()
    trainer.on_step_end()
    trainer.on_step_end()  # saved already
    assert checkpoints(trainer) == ["global_step_3", POINTER]
    trainer.global_steps += 1
    with pytest.raises(StopRequestedError) as caught:
        trainer.on_step_begin()
    assert caught.value.step == 3


def test_an_evaluation_has_our_names_and_refuses_failures(trainer: AgenticTrainer) -> None:
    sources, uids = ["a", "a", "b"], ["1", "2", "3"]
    infos = {"reward": [1.0, 0.0, 0.5], "failed": [0.0, 1.0, 0.0], "error": ["", "late", ""]}
    expected = dict.fromkeys(zip(sources, uids, strict=True), 1)
    metrics = trainer._val_metrics_update(sources, uids, infos, [2, 2, 2], expected_acc_counts=expected)
    assert metrics["val-core/a/reward/mean@1"] == 0.5
    assert (metrics["eval/reward"], metrics["eval/reward/a"]) == (0.5, 0.5)
    assert metrics["eval/failed_fraction"] == pytest.approx(1 / 3)
    assert not any("error" in name for name in metrics)
    with pytest.raises(FailedRolloutsError, match="evaluation: 2 of 3 rollouts failed"):
        trainer._val_metrics_update(sources, uids, {**infos, "error": ["late", "late", ""]}, [2, 2, 2], expected)
    with pytest.raises(FailedRolloutsError, match="evaluation: 3 of 5"):
        trainer._val_metrics_update(sources, uids, infos, [2, 2, 2], {**expected, ("b", "4"): 2})
