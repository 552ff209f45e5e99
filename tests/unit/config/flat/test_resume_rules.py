"""The checkpoint that the run would go on from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Finding
from rule_cases import Bad

Findings = Callable[..., list[Finding]]
CODES = {f"ARL26{number}" for number in range(10)}
FOLDER = {"@checkpoint.folder": "/home/me/checkpoints/p/e"}
THERE = {
    "@checkpoint.path": "/home/me/checkpoints/p/e/global_step_20",
    "@checkpoint.step": 20,
    "@checkpoint.backend": "verl",
    "@checkpoint.world_size": 8,
    "@checkpoint.hidden_size": 3584,
    "@checkpoint.num_hidden_layers": 28,
    "@checkpoint.model_type": "qwen2",
}
MODEL = {"@model.hidden_size": 3584, "@model.num_hidden_layers": 28, "@model.model_type": "qwen2"}
OWN = {
    **THERE,
    "@checkpoint.backend": "local",
    "@checkpoint.content": ("model", "optimizer", "extra"),
    "@train.rows": 800,
}
TRAINED = {"@checkpoint.path": "/out", "@checkpoint.step": 20, "@checkpoint.backend": "mindspeed_rl"}
AFRESH = "another experiment_name, which starts afresh"


def told(found: list[Finding]) -> list[Finding]:
    return [one for one in found if one.code in CODES]


BAD = [
    Bad(
        "verl",
        {"num_gpus_per_node": 4},
        THERE,
        "error ARL260 num_gpus_per_node",
        "num_gpus_per_node 4, but the run would go on from checkpoints/p/e/global_step_20, which 8 devices wrote; "
        "verl can't load it with 4",
        f"num_gpus_per_node: 8, or {AFRESH}",
    ),
    Bad(
        "verl",
        {"verl__nnodes": 2},
        THERE,
        "error ARL260 verl.nnodes",
        "num_gpus_per_node 8 (the default) x nnodes 2 = 16 devices, but the run would go on from "
        "checkpoints/p/e/global_step_20, which 8 devices wrote; verl can't load it with 16",
        f"num_gpus_per_node: 4, or {AFRESH}",
    ),
    Bad(
        "verl",
        {"num_gpus_per_node": 4, "verl__nnodes": 3},
        THERE,
        "error ARL260 num_gpus_per_node",
        "num_gpus_per_node 4 x nnodes 3 = 12 devices, but the run would go on from checkpoints/p/e/global_step_20, "
        "which 8 devices wrote; verl can't load it with 12",
        AFRESH,
    ),
    Bad(
        "verl",
        {},
        {**THERE, **MODEL, "@model.hidden_size": 4096, "@model.model_type": "qwen3"},
        "error ARL261 tokenizer_name_or_path",
        "not the model of checkpoints/p/e/global_step_20, where the run would go on: model_type 'qwen2' there and "
        "'qwen3' here, hidden_size 3584 there and 4096 here",
        f"the model that the run began with, or {AFRESH}",
    ),
    Bad(
        "local",
        {},
        {**OWN, **MODEL, "@model.num_hidden_layers": 2},
        "error ARL261 tokenizer_name_or_path",
        "not the model of checkpoints/p/e/global_step_20, where the run would go on: num_hidden_layers 28 there and 2 "
        "here",
        f"the model that the run began with, or {AFRESH}",
    ),
    Bad(
        "verl",
        {},
        {name: value for name, value in OWN.items() if "world" not in name},
        "error ARL262 verl.experiment_name",
        "the run would go on from checkpoints/p/e/global_step_20 and stop there: train_backend local wrote it",
        AFRESH,
    ),
    Bad(
        "verl",
        {},
        {"@checkpoint.path": "/home/me/checkpoints/p/e/global_step_5", "@checkpoint.step": 5},
        "error ARL262 verl.experiment_name",
        "the run would go on from checkpoints/p/e/global_step_5 and stop there: it has no folder actor",
        AFRESH,
    ),
    Bad(
        "verl",
        {},
        {**THERE, "@checkpoint.missing_ranks": 3},
        "error ARL262 verl.experiment_name",
        "the run would go on from checkpoints/p/e/global_step_20 and stop there: the model files of 3 of 8 ranks are "
        "missing",
        AFRESH,
    ),
    Bad(
        "local",
        {},
        {**OWN, "@checkpoint.content": ("hf_model", "extra")},
        "error ARL262 local.experiment_name",
        "the run would go on from checkpoints/p/e/global_step_20 and stop there: it was saved without optimizer",
        AFRESH,
    ),
    Bad(
        "mindspeed_rl",
        {},
        TRAINED,
        "warning ARL267 mindspeed_rl.save_params_path",
        "/out holds a checkpoint of step 20, but the run begins again from load_params_path",
        "an empty folder; or load_params_path: /out and save_params_path: another folder",
    ),
    Bad(
        "verl",
        {},
        {**FOLDER, "@checkpoint.unreached": (5, 10, 20)},
        "warning ARL263 verl.experiment_name",
        "checkpoints/p/e holds 3 checkpoints up to global_step_20, but latest_checkpointed_iteration.txt leads to none "
        "of them: the run begins again and writes over them",
        f"write 20 into latest_checkpointed_iteration.txt there, or {AFRESH}",
    ),
    Bad(
        "verl",
        {},
        {**FOLDER, "@checkpoint.unreached": (5, 10), "@checkpoint.pointed": 20},
        "warning ARL263 verl.experiment_name",
        "checkpoints/p/e holds 2 checkpoints up to global_step_10, but latest_checkpointed_iteration.txt names step "
        "20, and there is no global_step_20: the run begins again and writes over them",
        f"write 10 into latest_checkpointed_iteration.txt there, or {AFRESH}",
    ),
    Bad(
        "verl",
        {},
        {**FOLDER, "@checkpoint.pointed": 20},
        "warning ARL263 verl.experiment_name",
        "latest_checkpointed_iteration.txt in checkpoints/p/e names step 20, and there is no global_step_20: the run "
        "begins again",
        f"bring global_step_20 back, remove the file, or {AFRESH}",
    ),
    Bad(
        "local",
        {},
        {**FOLDER, "@checkpoint.unreached": (5,)},
        "warning ARL263 local.experiment_name",
        "checkpoints/p/e holds global_step_5, but none is a whole checkpoint of train_backend local: the run begins "
        "again and writes over them",
        AFRESH,
    ),
    Bad(
        "verl",
        {"verl__total_epochs": 2},
        {**THERE, "@train.rows": 87},
        "warning ARL264 verl.total_epochs",
        "the run has 20 steps, and checkpoints/p/e/global_step_20, where it would go on, has 20: nothing is left to "
        "train",
        f"a larger total_epochs, or {AFRESH}",
    ),
    Bad(
        "local",
        {"local__total_training_steps": 10},
        OWN,
        "warning ARL264 local.total_training_steps",
        "the run has 10 steps, and checkpoints/p/e/global_step_20, where it would go on, has 20: nothing is left to "
        "train",
        f"a larger total_training_steps, or {AFRESH}",
    ),
    Bad(
        "verl",
        {"verl__total_training_steps": 100},
        {"@train.rows": 87},
        "warning ARL265 verl.total_training_steps",
        "100 steps, but the data has 10 steps an epoch x total_epochs 2 (the default) = 20: verl ends there",
        "total_epochs: 10",
    ),
    Bad(
        "mindspeed_rl",
        {"mindspeed_rl__save_params_path": "/params/"},
        {},
        "warning ARL266 mindspeed_rl.save_params_path",
        "the same folder as load_params_path: after the first save the next start begins from that one",
        "a folder of its own for save_params_path",
    ),
]


@pytest.mark.parametrize("case", BAD, ids=[f"{one.head}-{number}" for number, one in enumerate(BAD)])
def test_bad(case: Bad, findings: Findings) -> None:
    case.expect(told(findings(case.backend, case.changes, case.facts)))


GOOD: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("verl", {}, {}),
    ("verl", {}, {**THERE, **MODEL, "@train.rows": 800}),
    ("verl", {"num_gpus_per_node": 4, "verl__nnodes": 2}, THERE),
    # Nodes without a common disk hold the files of their own ranks only.
    ("verl", {"num_gpus_per_node": 4, "verl__nnodes": 2}, {**THERE, "@checkpoint.missing_ranks": 4}),
    ("verl", {"verl__total_training_steps": 20}, {"@train.rows": 87}),
    ("verl", {"verl__total_epochs": 2, "test_only": True}, {**THERE, "@train.rows": 80}),
    ("local", {}, {**OWN, **MODEL}),
    ("local", {"local__total_training_steps": 1000}, {"@train.rows": 8}),
    ("local", {}, {**OWN, "@checkpoint.content": ("hf_model", "optimizer", "extra")}),
    ("mindspeed_rl", {"test_only": True}, TRAINED),
    ("mindspeed_rl", {}, {}),
]


@pytest.mark.parametrize(("backend", "changes", "facts"), GOOD)
def test_good(backend: str, changes: dict[str, Any], facts: dict[str, Any], findings: Findings) -> None:
    assert told(findings(backend, changes, facts)) == []


@pytest.mark.parametrize(
    ("changes", "stops"),
    [
        ({"local__total_training_steps": 21}, True),
        ({"local__total_training_steps": 20}, False),
        ({"local__total_training_steps": 21, "test_only": True}, False),
    ],
)
def test_only_what_goes_on_needs_more_than_the_weights(
    changes: dict[str, Any], stops: bool, findings: Findings
) -> None:
    found = findings("local", changes, {**OWN, "@checkpoint.content": ("hf_model",)})
    assert any(one.code == "ARL262" for one in found) == stops
