"""The batch algebra of all backends: what is refused, what is proposed, and the table that shows the sums."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Finding, Place
from agentic_rl.config.flat import Validated
from agentic_rl.config.flat.artifact_registry import relate
from agentic_rl.config.flat.batch_rules import BATCH_RULES, DATA_RULES
from agentic_rl.config.flat.batches import Layout, table
from agentic_rl.config.flat.mindspeed_rules import MINDSPEED_RULES
from agentic_rl.config.flat.mindspeed_worker_rules import WORKER_MODEL_RULES, WORKER_RULES
from agentic_rl.config.rules import Facts, run

Check = Callable[..., Validated]
CODES = {rule.page.code for rule in [*BATCH_RULES, *MINDSPEED_RULES, *WORKER_RULES]}
FACT_CODES = {rule.page.code for rule in [*DATA_RULES, *WORKER_MODEL_RULES]}


def told(result: Validated) -> list[Finding]:
    return [one for one in result.findings if one.code in CODES]


def place_of(key: str) -> Place | None:
    return Place("config.yaml", 1, 1)


def related(result: Validated, **facts: Any) -> list[Finding]:
    """What the rules of this family say once files were read; `train_rows` is `@train.rows`."""
    found = relate(result, {"@" + name.replace("_", ".", 1): value for name, value in facts.items()}, place_of)
    return [one for one in found if one.code in FACT_CODES]


# backend, changes, code, severity, key, a part of the message, the remedy
BAD: list[tuple[str, dict[str, Any], str, str, str, str, str]] = [
    (
        "mindspeed_rl",
        {"num_gpus_per_node": 6},
        "ARL220",
        "error",
        "num_gpus_per_node",
        "tensor_model_parallel_size 4 (the default) x pipeline_model_parallel_size 1 (the default) does not divide 6",
        "tensor_model_parallel_size: 2 and global_batch_size: 18\n",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__tensor_model_parallel_size": 3},
        "ARL220",
        "error",
        "mindspeed_rl.tensor_model_parallel_size",
        "tensor_model_parallel_size 3 x pipeline_model_parallel_size 1 (the default) does not divide 8 devices",
        "tensor_model_parallel_size: 2 or 4",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__pipeline_model_parallel_size": 3},
        "ARL220",
        "error",
        "mindspeed_rl.pipeline_model_parallel_size",
        "x pipeline_model_parallel_size 3 does not divide 8 devices",
        "pipeline_model_parallel_size: 2",
    ),
    (
        "mindspeed_rl",
        {"infer_tensor_parallel_size": 16},
        "ARL221",
        "error",
        "infer_tensor_parallel_size",
        "infer_tensor_parallel_size 16 devices for one inference engine, but there are only 8 devices",
        "infer_tensor_parallel_size: 8",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__global_batch_size": 6, "mindspeed_rl__tensor_model_parallel_size": 2},
        "ARL222",
        "error",
        "mindspeed_rl.global_batch_size",
        "6 prompts can't be split evenly over 4 data-parallel ranks; it must be a multiple of 4",
        "global_batch_size: 4 or 8",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__global_batch_size": 12, "infer_tensor_parallel_size": 1},
        "ARL222",
        "error",
        "mindspeed_rl.global_batch_size",
        "12 prompts can't be split evenly over 8 inference engines; it must be a multiple of 8",
        "global_batch_size: 8 or 16",
    ),
    (
        "mindspeed_rl",
        {"num_node": 3},
        "ARL222",
        "error",
        "num_node",
        "16 prompts (the default) can't be split evenly over 6 data-parallel ranks, 6 inference engines and 3 nodes",
        "global_batch_size: 12 or 18",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__micro_batch_size": 3, "rollout_n": 4},
        "ARL223",
        "error",
        "mindspeed_rl.micro_batch_size",
        "micro_batch_size 3 samples does not divide the 32 samples of a rank (global_batch_size 16 (the default)",
        "micro_batch_size: 2 or 4",
    ),
    (
        "mindspeed_rl",
        {"actor_rollout_dispatch_size": 3},
        "ARL224",
        "error",
        "actor_rollout_dispatch_size",
        "actor_rollout_dispatch_size 3 samples does not divide the 16 samples of an inference engine",
        "actor_rollout_dispatch_size: 2 or 4",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__use_remove_padding": True, "mindspeed_rl__reset_position_ids": True},
        "ARL225",
        "error",
        "mindspeed_rl.use_remove_padding",
        "packing needs reset_attention_mask",
        "use_remove_padding: false",
    ),
    (
        "mindspeed_rl",
        {"num_node": 8, "rollout_n": 2, "mindspeed_rl__mini_batch_size": 4},
        "ARL226",
        "warning",
        "mindspeed_rl.mini_batch_size",
        "4 prompts x rollout_n 2 = 8 samples for 16 data-parallel ranks: a rank gets none",
        "mini_batch_size: 8",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__tensor_model_parallel_size": 2, "mindspeed_rl__pipeline_model_parallel_size": 4}
        | {"infer_tensor_parallel_size": 8},
        "ARL227",
        "warning",
        "infer_tensor_parallel_size",
        "8 devices for an engine do not fit tensor_model_parallel_size 2 in training on 8 devices",
        "infer_tensor_parallel_size: 2",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__expert_model_parallel_size": 2},
        "ARL228",
        "warning",
        "mindspeed_rl.expert_model_parallel_size",
        "2, but 'qwen2.5-7b' has no experts",
        "expert_model_parallel_size: 1",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__gemm_gradient_accumulation_fusion": True},
        "ARL228",
        "warning",
        "mindspeed_rl.gemm_gradient_accumulation_fusion",
        "true, but 'qwen2.5-7b' has no experts",
        "gemm_gradient_accumulation_fusion: false",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__expert_model_parallel_size": 2, "model_name": "qwen3-30b-a3b"},
        "ARL228",
        "warning",
        "mindspeed_rl.expert_model_parallel_size",
        "2 needs moe_tp_extend_ep: true",
        "moe_tp_extend_ep: true",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__adv_estimator": "gae"},
        "ARL229",
        "warning",
        "mindspeed_rl.adv_estimator",
        "gae needs a critic",
        "adv_estimator: group_norm",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__recompute_granularity": "Full"},
        "ARL229",
        "warning",
        "mindspeed_rl.recompute_granularity",
        "'Full' is refused by Megatron; it must be full or selective, or null",
        "recompute_granularity: full",
    ),
    (
        "mindspeed_rl",
        {"mindspeed_rl__mini_batch_size": 10000},
        "ARL237",
        "warning",
        "mindspeed_rl.mini_batch_size",
        "10000 prompts are more than global_batch_size 16 (the default): no mini batch gets that large",
        "mini_batch_size: 16",
    ),
    (
        "mindspeed_rl",
        {"test_before_train": True},
        "ARL239",
        "warning",
        "test_before_train",
        "true, but mindspeed_rl.test_data_path is not set: there is nothing to evaluate with",
        "set mindspeed_rl.test_data_path",
    ),
    (
        "mindspeed_rl",
        {"test_only": True},
        "ARL239",
        "warning",
        "test_only",
        "true, but mindspeed_rl.test_data_path is not set: there is nothing to evaluate with",
        "set mindspeed_rl.test_data_path",
    ),
    (
        "verl",
        {"verl__train_batch_size": 4, "rollout_n": 3},
        "ARL230",
        "error",
        "verl.train_batch_size",
        "ppo_mini_batch_size 4 (the default) x rollout_n 3 = 12 samples can't be split evenly over 8 devices",
        "train_batch_size: 8",
    ),
    (
        "verl",
        {"verl__train_batch_size": 64, "verl__ppo_mini_batch_size": 12, "rollout_n": 5},
        "ARL230",
        "error",
        "verl.ppo_mini_batch_size",
        "ppo_mini_batch_size 12 x rollout_n 5 = 60 samples can't be split evenly over 8 devices",
        "ppo_mini_batch_size: 8 or 16",
    ),
    (
        "verl",
        {"verl__nnodes": 4, "rollout_n": 2},
        "ARL230",
        "error",
        "rollout_n",
        "= 16 samples can't be split evenly over 32 devices",
        "train_batch_size: 16",
    ),
    (
        "verl",
        {"verl__train_batch_size": 40, "verl__ppo_mini_batch_size": 16, "rollout_n": 4},
        "ARL231",
        "warning",
        "verl.train_batch_size",
        "40 prompts are no multiple of ppo_mini_batch_size 16: verl fills each step up with 32 empty samples",
        "ppo_mini_batch_size: 10 or 20",
    ),
    (
        "verl",
        {"verl__train_batch_size": 24, "rollout_n": 8},
        "ARL231",
        "note",
        "verl.train_batch_size",
        "24 prompts are no multiple of ppo_mini_batch_size 16 (the default)",
        "ppo_mini_batch_size: 12 or 24",
    ),
]


@pytest.mark.parametrize("case", BAD, ids=[f"{one[2]}-{one[4]}-{number}" for number, one in enumerate(BAD)])
def test_one_finding_with_value_rule_and_remedy(
    case: tuple[str, dict[str, Any], str, str, str, str, str], check: Check
) -> None:
    backend, changes, code, severity, key, message, hint = case
    (finding,) = told(check(backend, **changes))
    assert (finding.code, finding.severity, finding.key) == (code, severity, key)
    assert message in finding.message
    assert finding.hint.startswith(hint)
    assert finding.line is not None


def test_every_rule_has_a_bad_case_here() -> None:
    assert {one[2] for one in BAD} == CODES


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("mindspeed_rl", {}),
    ("mindspeed_rl", {"mindspeed_rl__global_batch_size": 4, "mindspeed_rl__tensor_model_parallel_size": 2}),
    ("mindspeed_rl", {"num_node": 2}),
    ("mindspeed_rl", {"num_gpus_per_node": 4, "infer_tensor_parallel_size": 4, "rollout_n": 1}),
    ("mindspeed_rl", {"mindspeed_rl__tensor_model_parallel_size": 2, "mindspeed_rl__pipeline_model_parallel_size": 2}),
    ("mindspeed_rl", {"mindspeed_rl__micro_batch_size": 16}),
    ("mindspeed_rl", {"actor_rollout_dispatch_size": 16}),
    ("mindspeed_rl", {"mindspeed_rl__mini_batch_size": 1}),
    ("mindspeed_rl", {"mindspeed_rl__mini_batch_size": 16}),
    ("mindspeed_rl", {"infer_tensor_parallel_size": 8, "mindspeed_rl__tensor_model_parallel_size": 2}),
    ("mindspeed_rl", {"mindspeed_rl__recompute_granularity": "full", "mindspeed_rl__recompute_method": "block"}),
    (
        "mindspeed_rl",
        {"model_name": "qwen3-30b-a3b", "mindspeed_rl__expert_model_parallel_size": 2}
        | {"mindspeed_rl__moe_tp_extend_ep": True, "mindspeed_rl__gemm_gradient_accumulation_fusion": True},
    ),
    (
        "mindspeed_rl",
        {"test_only": True, "mindspeed_rl__adv_estimator": "gae", "mindspeed_rl__test_data_path": "/data/test"},
    ),
    ("verl", {"test_before_train": True}),
    ("verl", {}),
    ("verl", {"verl__train_batch_size": 4, "rollout_n": 4}),
    ("verl", {"verl__train_batch_size": 256, "verl__ppo_mini_batch_size": 64, "rollout_n": 5}),
    ("verl", {"verl__train_batch_size": 3, "num_gpus_per_node": 1}),
    ("verl", {"verl__train_batch_size": 3, "rollout_n": 3, "test_only": True}),
    ("verl", {"verl__val_batch_size": 7}),
    ("local", {"local__train_batch_size": 7, "rollout_n": 3, "local__ppo_mini_batch_size": 5}),
]


@pytest.mark.parametrize(("backend", "changes"), GOOD)
def test_good_neighbours_are_quiet(backend: str, changes: dict[str, Any], check: Check) -> None:
    assert told(check(backend, **changes)) == []


@pytest.mark.parametrize("backend", ["verl", "local"])
@pytest.mark.parametrize(
    ("rows", "batch", "ok"), [(4, 32, False), (31, 32, False), (32, 32, True), (7, ..., False), (0, ..., False)]
)
def test_data_set_smaller_than_a_batch(backend: str, rows: int, batch: Any, ok: bool, check: Check) -> None:
    changes = {} if batch is ... else {f"{backend}__train_batch_size": batch}
    found = related(check(backend, rollout_n=8, **changes), train_rows=rows)
    assert [(one.code, one.severity, one.key) for one in found] == (
        [] if ok else [("ARL232", "error", f"{backend}.train_batch_size")]
    )
    if not ok:
        assert ("8 prompts (the default)" in found[0].message) == (batch is ...)
        assert f"train_files has {rows} rows; incomplete batches are dropped, so there is not one step" in (
            found[0].message
        )
        assert ("train_batch_size: " in found[0].hint.partition("\n")[0]) == (rows > 0)


@pytest.mark.parametrize(("rows", "ok"), [(16, True), (15, False)])
def test_mindspeed_with_fewer_rows_than_a_batch(rows: int, ok: bool, check: Check) -> None:
    found = related(check("mindspeed_rl"), train_rows=rows)
    assert [(one.code, one.severity, one.key) for one in found] == (
        [] if ok else [("ARL232", "warning", "mindspeed_rl.global_batch_size")]
    )
    if not ok:
        assert found[0].message == (
            "16 prompts (the default), but data_path has 15 rows: MindSpeed-RL takes rows again to fill a step"
        )


def test_rows_matter_to_training_alone(check: Check) -> None:
    assert related(check("verl", test_only=True), train_rows=1) == []
    assert related(check("local", local__val_only=True), train_rows=1) == []
    assert related(check("verl", verl__val_batch_size=512), train_rows=8, val_rows=3) == []


def test_batch_that_fits_the_rows_fits_the_devices_too(check: Check) -> None:
    (finding,) = related(check("verl", verl__train_batch_size=32, rollout_n=2), train_rows=11)
    assert finding.hint.startswith("train_batch_size: 8; or train_files with at least 32 rows\n")
    (finding,) = related(check("verl", verl__train_batch_size=32, rollout_n=1), train_rows=5)
    assert finding.hint.startswith("train_files with at least 32 rows\n")
    (finding,) = related(check("local", local__train_batch_size=32), train_rows=31)
    assert finding.hint.startswith("train_batch_size: 31; or train_files with at least 32 rows\n")


def test_stages_share_the_layers_evenly(check: Check) -> None:
    staged = check("mindspeed_rl", num_gpus_per_node=24, mindspeed_rl__pipeline_model_parallel_size=3)
    (finding,) = related(staged, model_num_hidden_layers=28)
    assert (finding.code, finding.severity) == ("ARL233", "error")
    assert "3 stages can't share the model's 28 layers evenly" in finding.message
    assert related(staged, model_num_hidden_layers=36) == []
    assert related(check("verl"), model_num_hidden_layers=28) == []


@pytest.mark.parametrize(("size", "ok"), [(1, True), (2, True), (4, False), (8, False)])
def test_training_devices_share_the_heads_evenly(size: int, ok: bool, check: Check) -> None:
    facts = {"model_num_attention_heads": 14, "model_num_key_value_heads": 2}
    found = related(check("mindspeed_rl", mindspeed_rl__tensor_model_parallel_size=size), **facts)
    assert [(one.code, one.severity) for one in found] == ([] if ok else [("ARL235", "warning")])
    if not ok:
        assert f"{size} devices can't share the model's 14 attention heads evenly" in found[0].message
        assert found[0].hint.startswith("tensor_model_parallel_size: 2\n")
    (finding,) = related(check("mindspeed_rl"), **facts)
    assert "4 devices (the default) can't share" in finding.message


def test_training_devices_share_or_copy_the_heads_of_keys_and_values(check: Check) -> None:
    facts = {"model_num_attention_heads": 24, "model_num_key_value_heads": 6}
    (finding,) = related(check("mindspeed_rl"), **facts)
    assert "the model's 6 heads of keys and values evenly" in finding.message
    assert related(check("mindspeed_rl"), model_num_attention_heads=28, model_num_key_value_heads=2) == []
    assert related(check("verl"), **facts) == []


def test_the_folder_holds_the_model_that_is_named(check: Check) -> None:
    facts = {"model_model_type": "qwen3", "model_num_hidden_layers": 36}
    (finding,) = related(check("mindspeed_rl"), **facts, model_hidden_size=4096)
    assert (finding.code, finding.severity, finding.key) == ("ARL236", "warning", "model_name")
    assert finding.message == (
        "qwen2.5-7b is qwen2 with 28 layers of hidden size 3584, but the model in tokenizer_name_or_path is "
        "qwen3 with 36 layers of hidden size 4096"
    )
    assert finding.hint == "model_name: qwen3-8b, or the folder of qwen2.5-7b as tokenizer_name_or_path"
    (finding,) = related(check("mindspeed_rl", model_name="qwen3-8b"), **facts, model_hidden_size=64)
    assert finding.hint == "the folder of qwen3-8b as tokenizer_name_or_path"
    assert related(check("mindspeed_rl", model_name="qwen3-8b"), **facts, model_hidden_size=4096) == []
    assert related(check("verl", model_name="qwen2.5-7b"), **facts, model_hidden_size=4096) == []


@pytest.mark.parametrize(
    ("size", "tensor", "extended", "hint"),
    [
        (4, 4, False, ""),
        (32, 4, True, ""),
        (3, 4, False, "expert_model_parallel_size: 2 or 4"),
        (64, 4, True, "expert_model_parallel_size: 32"),
        (1, 3, True, "tensor_model_parallel_size that divides 128"),
    ],
)
def test_devices_share_the_experts_evenly(size: int, tensor: int, extended: bool, hint: str, check: Check) -> None:
    sizes = {"mindspeed_rl__expert_model_parallel_size": size, "mindspeed_rl__tensor_model_parallel_size": tensor}
    made = check("mindspeed_rl", model_name="qwen3-30b-a3b", mindspeed_rl__moe_tp_extend_ep=extended, **sizes)
    found = related(made, model_num_experts=128)
    assert [(one.code, one.severity, one.hint) for one in found] == ([("ARL238", "warning", hint)] if hint else [])
    assert related(check("mindspeed_rl"), model_num_experts=0) == []


def test_sequences_stay_within_the_model(check: Check) -> None:
    (finding,) = related(check("mindspeed_rl"), model_max_position_embeddings=4096)
    assert (finding.code, finding.severity) == ("ARL234", "warning")
    assert "8192 tokens (the default), but the model's own context is 4096 tokens" in finding.message
    assert related(check("mindspeed_rl"), model_max_position_embeddings=8192) == []


def test_relation_of_values_that_nobody_wrote_is_a_warning(check: Check) -> None:
    values = check("mindspeed_rl").values | {"num_gpus_per_node": 6}
    assert [problem.severity for _, problem in run(MINDSPEED_RULES, Facts(values, ()))] == ["warning"]
    values = check("verl").values | {"num_gpus_per_node": 3}
    assert [problem.severity for _, problem in run(BATCH_RULES, Facts(values, ()))] == ["warning"]


def test_table_has_every_batch_with_units() -> None:
    layout = Layout("mindspeed_rl", 8, 6, 6, 1, 8, 2, 1, 4, 1, 4)
    assert table(layout) == [
        "8 devices (1 x 8): 4 data-parallel ranks of TP 2 x PP 1, 2 inference engines of TP 4; rollout_n 8",
        "                             prompts  samples               on each rank          on each engine",
        "global_batch_size                  6       48  1.50 prompts = 12 samples  3 prompts = 24 samples",
        "mini_batch_size                    6       48  1.50 prompts = 12 samples                       -",
        "micro_batch_size                   -        -                   1 sample                       -",
        "actor_rollout_dispatch_size        -        -                          -               4 samples",
    ]
    assert table(Layout("local", 4, 8, None, validation=3)) == [
        "1 device; rollout_n 4",
        "                     prompts  samples            on each rank",
        "train_batch_size           8       32  8 prompts = 32 samples",
        "ppo_mini_batch_size        8       32  8 prompts = 32 samples",
        "val_batch_size             3        3                       -",
    ]


def test_sizes_that_nobody_has_cost_no_time(check: Check) -> None:
    huge = 2**63 - 1
    sizes = {"num_gpus_per_node": huge, "mindspeed_rl__tensor_model_parallel_size": huge - 1, "num_node": huge}
    for finding in told(check("mindspeed_rl", infer_tensor_parallel_size=huge, **sizes)):
        assert len(finding.message) < 500
    told(check("verl", num_gpus_per_node=huge, verl__train_batch_size=huge, verl__ppo_mini_batch_size=huge - 1))
