from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from agentic_rl.backends.verl.checkpoints import Checkpoint
from agentic_rl.backends.verl.description import describe
from agentic_rl.backends.verl.flat_run import FlatRun
from agentic_rl.backends.verl.job import evaluating, resuming, total_steps
from agentic_rl.config.load import load
from verl_doubles import BASE, installation

GIVEN = ["trainer.device=cpu", "+a.b=1"]
NATIVE: dict[str, Any] = {
    "trainer": {
        "device": "cuda",
        "n_gpus_per_node": 4,
        "nnodes": 1,
        "resume_mode": "auto",
        "val_only": False,
        "val_before_train": False,
        "logger": ["console"],
        "total_epochs": 2,
        "total_training_steps": None,
        "test_freq": -1,
        "save_freq": 5,
    },
    "data": {"train_batch_size": 64, "val_files": "/data/test.parquet", "val_batch_size": 8},
    "algorithm": {"use_kl_in_reward": False},
    "actor_rollout_ref": {
        "actor": {"use_kl_loss": False, "ppo_mini_batch_size": 16, "checkpoint": {"save_contents": ["model"]}},
        "rollout": {"n": 8, "tensor_model_parallel_size": 4, "agent": {"num_workers": 8}},
    },
}


def native(**trainer: Any) -> dict[str, Any]:
    return {**NATIVE, "trainer": {**NATIVE["trainer"], **trainer}}


def run(rows: int | None, **section: Any) -> FlatRun:
    tree: dict[str, Any] = {"verl": {}}
    for key, value in {**BASE, **{f"verl.{name}": value for name, value in section.items()}}.items():
        level, _, name = key.rpartition(".")
        (tree[level] if level else tree)[name] = value
    facts = {} if rows is None else {"@train.rows": rows}
    return FlatRun(dataclasses.replace(load(tree, files=False, environ={}), facts=facts), installation())


@pytest.mark.parametrize(
    ("rows", "section", "steps"),
    [
        (None, {}, None),
        (64 * 3 + 63, {"total_epochs": 2}, 6),
        (64 * 3, {"total_epochs": 2, "total_training_steps": 4}, 4),
        (64 * 3, {"total_epochs": 2, "total_training_steps": 40}, 6),
    ],
)
def test_steps_are_whole_batches_of_every_epoch(rows: int | None, section: dict[str, Any], steps: int | None) -> None:
    assert total_steps(run(rows), native(**section)) == steps


def test_verl_is_told_where_to_begin() -> None:
    changed = resuming(NATIVE, Checkpoint(4, Path("/run/global_step_4")))["trainer"]
    assert (changed["resume_mode"], changed["resume_from_path"]) == ("resume_path", "/run/global_step_4")
    changed = resuming(NATIVE, None)["trainer"]
    assert (changed["resume_mode"], changed["resume_from_path"]) == ("disable", None)
    assert NATIVE["trainer"]["resume_mode"] == "auto"


def test_an_evaluation_does_not_train() -> None:
    assert evaluating(NATIVE)["trainer"] == {**NATIVE["trainer"], "val_only": True, "val_before_train": True}
    assert NATIVE["trainer"]["val_before_train"] is False


@pytest.mark.parametrize(
    ("checkpoint", "words"),
    [
        (None, ["begin: there is no checkpoint", "train 6 steps;"]),
        (Checkpoint(4, Path("/run/global_step_4")), ["go on from /run/global_step_4 at step 4", "train 2 steps;"]),
        (Checkpoint(6, Path("/run/global_step_6")), ["already finished, /run/global_step_6 has all 6 steps"]),
    ],
)
def test_a_plan_says_where_the_run_begins_and_how_far_it_goes(checkpoint: Checkpoint | None, words: list[str]) -> None:
    plan = describe(run(64 * 3), NATIVE, GIVEN, {}, checkpoint)
    text = "\n".join(plan.steps)
    assert all(word in text for word in words), text


def test_there_is_no_estimate_for_another_engine() -> None:
    plan = describe(run(64), {**NATIVE, "model_engine": "megatron"}, GIVEN, {}, None)
    assert (plan.memory, plan.no_memory) == (None, "no estimate for the engine megatron")


def test_a_plan_names_the_ray_that_it_would_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert describe(run(64), NATIVE, GIVEN, {}, None).processes[0] == "Ray: one of its own on 127.0.0.1"
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    plan = describe(run(64), NATIVE, GIVEN, {}, None)
    assert plan.processes[0] == "Ray: the cluster at 10.0.0.1:6379 (RAY_ADDRESS)"
    assert plan.native_configuration == {"trainer.device": "cpu", "+a.b": "1"}


def test_a_plan_for_several_nodes_says_that_their_ray_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert describe(run(64), native(nnodes=2), GIVEN, {}, None).processes[0].startswith("Ray: none: 2 nodes need")
