"""Relations between keys, keys without effect, and values that depend on the backend."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat import Validated
from agentic_rl.config.flat.dead_keys import DEAD, acts_on
from agentic_rl.config.flat.names import LEVELS
from agentic_rl.config.flat.registry import rules_for

Check = Callable[..., Validated]
TRAINING = ("verl", "local")
OF_DEFAULTS = {("ARL204", "note"), ("ARL255", "note")}


def told(result: Validated) -> dict[tuple[str, str], Finding]:
    """What rules said: (code, key) -> finding; the notes about documented defaults that contradict each other aside."""
    rules = {rule.page.code for rule in rules_for("mindspeed_rl")}
    found = {(one.code, one.key): one for one in result.findings if one.code in rules}
    return {place: one for place, one in found.items() if (one.code, one.severity) not in OF_DEFAULTS}


@pytest.mark.parametrize("backend", ["verl", "mindspeed_rl", "local"])
def test_smallest_configuration_is_quiet(backend: str, check: Check) -> None:
    result = check(backend)
    assert told(result) == {}
    assert result.config is not None
    assert {one.severity for one in result.findings} <= {"note"}


BAD: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("ARL110", "error", "mindspeed_rl", "model_name", {"model_name": "qwen3-9b"}),
    ("ARL110", "warning", "mindspeed_rl", "model_name", {"model_name": "qwen3-32b"}),
    ("ARL111", "warning", "verl", "min_p", {"min_p": 0.0}),
    ("ARL111", "warning", "local", "min_p", {"min_p": 0}),
    ("ARL112", "error", "verl", "top_k", {"top_k": -2}),
    ("ARL113", "error", "mindspeed_rl", "dtype", {"dtype": "float16"}),
    ("ARL114", "error", "mindspeed_rl", "kl_penalty", {"kl_penalty": "full"}),
    ("ARL115", "error", "mindspeed_rl", "infer_pipeline_parallel_size", {"infer_pipeline_parallel_size": 2}),
    ("ARL203", "error", "verl", "verl.use_kl_loss", {"use_kl_in_reward": True, "verl__use_kl_loss": True}),
    ("ARL203", "error", "local", "local.use_kl_loss", {"use_kl_in_reward": True, "local__use_kl_loss": True}),
    ("ARL204", "error", "verl", "verl.ppo_mini_batch_size", {"verl__ppo_mini_batch_size": 9}),
    (
        "ARL204",
        "error",
        "local",
        "local.ppo_mini_batch_size",
        {"local__ppo_mini_batch_size": 64, "local__train_batch_size": 32},
    ),
    ("ARL205", "error", "verl", "min_lr", {"lr": 1e-6, "min_lr": 1e-5, "verl__warmup_style": "cosine"}),
    (
        "ARL205",
        "error",
        "verl",
        "verl.min_lr_ratio",
        {"lr": 1e-6, "min_lr": 1e-7, "verl__min_lr_ratio": 0.2, "verl__warmup_style": "cosine"},
    ),
    (
        "ARL205",
        "warning",
        "local",
        "local.min_lr_ratio",
        {"min_lr": 0.0, "local__min_lr_ratio": 0.2, "local__warmup_style": "cosine"},
    ),
    ("ARL206", "warning", "verl", "min_lr", {"min_lr": 1e-7}),
    ("ARL207", "warning", "verl", "verl.val_only", {"test_only": True, "verl__val_only": False}),
    ("ARL207", "warning", "local", "local.val_only", {"test_only": False, "local__val_only": True}),
    (
        "ARL208",
        "warning",
        "verl",
        "verl.val_before_train",
        {"test_before_train": True, "verl__val_before_train": False},
    ),
    ("ARL208", "note", "local", "test_before_train", {"test_before_train": False}),
    ("ARL209", "error", "verl", "num_node", {"num_node": 1, "verl__nnodes": 2}),
    ("ARL210", "error", "mindspeed_rl", "mindspeed_rl.seq_len", {"max_model_len": 4096}),
    (
        "ARL210",
        "error",
        "mindspeed_rl",
        "mindspeed_rl.seq_len",
        {"max_model_len": 8192, "mindspeed_rl__seq_len": 8193},
    ),
    ("ARL211", "warning", "verl", "verl.min_lr_ratio", {"verl__min_lr_ratio": 0.1}),
    ("ARL211", "warning", "local", "local.num_cycles", {"local__num_cycles": 0.5}),
    ("ARL211", "warning", "verl", "verl.policy_loss_clip_cov_ratio", {"verl__policy_loss_clip_cov_ratio": 0.01}),
    ("ARL211", "warning", "verl", "verl.policy_loss_kl_cov_ratio", {"verl__policy_loss_kl_cov_ratio": 0.01}),
    ("ARL211", "warning", "verl", "verl.kl_loss_coeff", {"verl__kl_loss_coeff": 0.01}),
    ("ARL211", "warning", "local", "kl_coef", {"kl_coef": 0.01}),
    ("ARL211", "warning", "mindspeed_rl", "kl_target", {"kl_target": 0.2}),
    ("ARL211", "warning", "verl", "lam", {"lam": 0.95}),
    ("ARL211", "warning", "mindspeed_rl", "lam", {"lam": 0.95}),
    ("ARL211", "warning", "mindspeed_rl", "gamma", {"gamma": 0.99}),
    ("ARL211", "warning", "local", "local.sft_lr", {"local__sft_lr": 1e-3}),
    ("ARL212", "warning", "verl", "entropy_coeff", {"entropy_coeff": ...}),
    ("ARL212", "warning", "local", "entropy_coeff", {"entropy_coeff": ...}),
    ("ARL213", "warning", "verl", "rollout_n", {"rollout_n": 1}),
    ("ARL213", "warning", "mindspeed_rl", "rollout_n", {"rollout_n": 1}),
    ("ARL214", "warning", "local", "local.adv_estimator", {"local__adv_estimator": "gae"}),
    ("ARL200", "note", "verl", "model_name", {"model_name": "anything"}),
    ("ARL200", "warning", "verl", "infer_pipeline_parallel_size", {"infer_pipeline_parallel_size": 2}),
    ("ARL200", "warning", "mindspeed_rl", "infer_expert_parallel_size", {"infer_expert_parallel_size": 2}),
    ("ARL200", "warning", "verl", "clip_grad", {"clip_grad": 1.0}),
    ("ARL200", "warning", "verl", "num_node", {"num_node": 2}),
    ("ARL200", "warning", "verl", "verl.balance_batch", {"verl__balance_batch": False}),
    ("ARL200", "warning", "mindspeed_rl", "use_kl_in_reward", {"use_kl_in_reward": True}),
    ("ARL200", "warning", "mindspeed_rl", "enable_thinking", {"enable_thinking": False}),
    ("ARL200", "warning", "mindspeed_rl", "tool_parser", {"tool_parser": "hermes"}),
    ("ARL200", "warning", "mindspeed_rl", "sandbox", {"sandbox": "weak"}),
    ("ARL200", "warning", "mindspeed_rl", "search", {"search": "http://127.0.0.1:8000"}),
    ("ARL200", "warning", "mindspeed_rl", "search_topk", {"search_topk": 5}),
    ("ARL200", "warning", "local", "use_stepwise_advantage", {"use_stepwise_advantage": True}),
    ("ARL200", "warning", "local", "gpu_memory_utilization", {"gpu_memory_utilization": 0.5}),
    ("ARL200", "warning", "local", "dtype", {"dtype": "bfloat16"}),
    ("ARL200", "warning", "local", "num_scheduler_steps", {"num_scheduler_steps": 1}),
]


@pytest.mark.parametrize("case", BAD, ids=[f"{one[0]}-{one[3]}-{one[2]}-{one[1]}" for one in BAD])
def test_one_finding_and_no_other(case: tuple[str, str, str, str, dict[str, Any]], check: Check) -> None:
    code, severity, backend, key, changes = case
    result = check(backend, **changes)
    assert [(one, found.severity) for one, found in told(result).items()] == [((code, key), severity)]
    (finding,) = told(result).values()
    assert finding.line is not None
    assert finding.message[0] != " "
    assert result.config is not None


GOOD: list[tuple[str, dict[str, Any]]] = [
    ("mindspeed_rl", {"model_name": "qwen3-8b", "kl_penalty": "mse"}),
    ("mindspeed_rl", {"max_model_len": 8192, "mindspeed_rl__seq_len": 8192, "num_node": 2}),
    ("mindspeed_rl", {"lam": 1.0, "gamma": 1.0, "kl_ctrl_type": "adaptive", "kl_target": 0.2}),
    ("verl", {"top_k": -1}),
    ("verl", {"top_k": 0, "min_p": 1e-9, "dtype": "float16", "kl_penalty": "kl"} | {"use_kl_in_reward": True}),
    ("verl", {"verl__ppo_mini_batch_size": 8}),
    ("verl", {"verl__train_batch_size": 16}),
    (
        "verl",
        {"lr": 1e-6, "min_lr": 1e-7, "verl__min_lr_ratio": 0.1, "verl__warmup_style": "cosine", "verl__num_cycles": 1},
    ),
    ("verl", {"test_only": True, "verl__val_only": True, "entropy_coeff": ..., "rollout_n": 1}),
    ("verl", {"verl__val_only": True, "entropy_coeff": ..., "rollout_n": 1}),
    ("verl", {"test_before_train": True}),
    ("verl", {"test_before_train": False, "verl__val_before_train": False}),
    ("verl", {"num_node": 1, "verl__nnodes": 1}),
    ("verl", {"rollout_n": 1, "verl__adv_estimator": "gae", "gamma": 0.9, "lam": 0.9}),
    ("verl", {"verl__policy_loss_model": "clip-cov", "verl__policy_loss_clip_cov_lb": 2.0}),
    ("verl", {"verl__policy_loss_model": "kl-cov", "verl__policy_loss_ppo_kl_coef": 0.5}),
    ("verl", {"use_kl_in_reward": True, "kl_coef": 0.01, "kl_ctrl_type": "adaptive", "kl_horizon": 5}),
    ("local", {"local__use_kl_loss": True, "local__kl_loss_coeff": 0.1, "local__kl_loss_type": "full"}),
    ("local", {"local__sft_files": "/sft.parquet", "local__sft_lr": 1e-3, "local__sft_steps": 10}),
    ("local", {"infer_tensor_parallel_size": 1, "num_gpus_per_node": 1, "enforce_eager": True, "gamma": 1.0}),
    ("local", {"use_stepwise_advantage": False, "infer_pipeline_parallel_size": 1, "infer_expert_parallel_size": 1}),
]


@pytest.mark.parametrize(("backend", "changes"), GOOD)
def test_good_neighbours_are_quiet(backend: str, changes: dict[str, Any], check: Check) -> None:
    result = check(backend, **changes)
    assert told(result) == {}
    assert result.config is not None


@pytest.mark.parametrize("backend", TRAINING)
@pytest.mark.parametrize(("low", "high", "ok"), [(1.0, 5.0, True), (5.0, 5.0, False), (6.0, ..., False)])
def test_bounds_of_clip_cov(backend: str, low: float, high: Any, ok: bool, check: Check) -> None:
    changes = {f"{backend}__policy_loss_model": "clip-cov", f"{backend}__policy_loss_clip_cov_lb": low}
    if high is not ...:
        changes[f"{backend}__policy_loss_clip_cov_ub"] = high
    findings = told(check(backend, **changes))
    assert (findings == {}) == ok
    if not ok:
        finding = findings["ARL202", f"{backend}.policy_loss_clip_cov_lb"]
        assert ("5.0 (the default)" in finding.message) == (high is ...)


def test_upper_bound_of_clip_cov_is_named_where_it_alone_is_written(check: Check) -> None:
    findings = told(check("verl", verl__policy_loss_model="clip-cov", verl__policy_loss_clip_cov_ub=0.5))
    assert list(findings) == [("ARL202", "verl.policy_loss_clip_cov_ub")]


@pytest.mark.parametrize("backend", TRAINING)
def test_default_mini_batch_is_cut_to_the_batch(backend: str, check: Check) -> None:
    result = check(backend, **{f"{backend}__train_batch_size": 4})
    (note,) = [one for one in result.findings if one.code == "ARL204"]
    assert note.severity == "note"
    assert "4 is used" in note.message
    assert result.config is not None
    section = getattr(result.config, backend)
    assert (section.ppo_mini_batch_size, section.effective_ppo_mini_batch_size) == (16, 4)
    larger = check(backend, **{f"{backend}__train_batch_size": 32}).config
    assert getattr(larger, backend).effective_ppo_mini_batch_size == 16


@pytest.mark.parametrize("backend", TRAINING)
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_evaluation_mode_combines_both_keys(backend: str, shared: bool, own: bool, check: Check) -> None:
    config = check(backend, test_only=shared, **{f"{backend}__val_only": own}).config
    assert config is not None
    assert config.evaluates_only == (shared or own)
    config = check(backend, test_before_train=shared, **{f"{backend}__val_before_train": own}).config
    assert config is not None
    assert config.evaluates_before_training == (shared or own)


def test_mindspeed_has_the_shared_keys_of_evaluation_only(check: Check) -> None:
    config = check("mindspeed_rl", test_only=True).config
    assert config is not None
    assert (config.evaluates_only, config.evaluates_before_training) == (True, False)


def test_a_configuration_without_its_section_says_so(check: Check) -> None:
    config = check("verl").config
    assert config is not None
    assert config.section is config.verl
    with pytest.raises(LookupError, match="no section verl"):
        _ = config.model_copy(update={"verl": None}).section


def test_a_rule_says_when_a_value_is_a_default(check: Check) -> None:
    finding = told(check("mindspeed_rl", max_model_len=4096))["ARL210", "mindspeed_rl.seq_len"]
    assert finding.message.startswith("8192 tokens (the default), but max_model_len is 4096 tokens;")


def test_rules_of_a_broken_value_are_silent(check: Check) -> None:
    result = check("verl", verl__ppo_mini_batch_size="many", use_kl_in_reward="True", verl__use_kl_loss=True)
    assert told(result) == {}


def test_every_rule_has_a_bad_case_here() -> None:
    rules = rules_for("mindspeed_rl")
    here = {rule.page.code for rule in rules if rule.page.code < "ARL220"}  # families above have their own tests
    assert here == {one[0] for one in BAD} | {"ARL202"}
    assert all(len(rule.page.text) > 60 for rule in rules)


def test_dead_keys_are_keys() -> None:
    for backend, dead in DEAD.items():
        for key in dead.keys:
            section, _, name = key.rpartition(".")
            assert section in ("", backend)
            assert name in LEVELS[section]
            assert backend not in acts_on(key)


@pytest.mark.parametrize("backend", DEAD)
def test_a_dead_key_names_the_version_it_was_found_dead_in(backend: str, check: Check) -> None:
    finding = told(check(backend, num_scheduler_steps=4))["ARL200", "num_scheduler_steps"]
    assert f"no effect with train_backend {backend} (as of {DEAD[backend].version}): " in finding.message


@pytest.mark.parametrize("backend", ["verl", "mindspeed_rl", "local"])
def test_what_is_proposed_for_min_p_passes(backend: str, check: Check) -> None:
    (found,) = [one for one in check(backend, min_p=0.0).findings if one.code == "ARL111"]
    key, _, value = found.hint.partition(": ")
    assert key == "min_p"
    assert {one.key for one in check(backend, min_p=float(value)).findings}.isdisjoint({"min_p"})
