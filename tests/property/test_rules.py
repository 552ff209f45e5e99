"""Rules over values and facts that nobody would write: none fails, and what a remedy proposes is valid."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat import validate
from agentic_rl.config.flat.artifact_registry import relate

SHARED = {"tokenizer_name_or_path": "/model", "agent_name": "math", "entropy_coeff": 0.001}
FILES = {"train_files": "/data/train.parquet", "val_files": "/data/test.parquet"}
SECTIONS: dict[str, dict[str, Any]] = {
    "verl": FILES,
    "local": FILES,
    "mindspeed_rl": {"data_path": "/data/train", "load_params_path": "/params", "save_params_path": "/out"},
}
SIZES = st.one_of(st.integers(1, 64), st.integers(1, 2**63 - 1))
SHARED_SIZES = ("max_model_len", "max_num_batched_tokens", "max_tokens", "max_steps", "num_gpus_per_node")
OWN_SIZES = {
    "verl": ("max_response_length", "ppo_max_token_len_per_gpu", "save_freq", "total_training_steps", "nnodes"),
    "local": ("max_response_length", "ppo_max_token_len_per_gpu", "save_freq", "total_training_steps"),
    "mindspeed_rl": ("seq_len", "save_interval", "train_iters", "global_batch_size"),
}
FACTS = ("@train.rows", "@checkpoint.step", "@checkpoint.world_size", "@checkpoint.missing_ranks")
MODEL = ("@model.num_attention_heads", "@model.num_key_value_heads", "@model.max_position_embeddings")


@st.composite
def runs(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """A configuration that validates, and facts of files."""
    backend = draw(st.sampled_from(sorted(SECTIONS)))
    shared = draw(st.dictionaries(st.sampled_from([*SHARED_SIZES, "infer_tensor_parallel_size"]), SIZES))
    own = draw(st.dictionaries(st.sampled_from(OWN_SIZES[backend]), SIZES))
    facts: dict[str, Any] = dict(draw(st.dictionaries(st.sampled_from([*FACTS, *MODEL]), SIZES)))
    facts["@checkpoint.path"] = "/home/me/checkpoints/p/e/global_step_1"
    facts["@checkpoint.backend"] = draw(st.sampled_from(sorted(SECTIONS)))
    tree = {**SHARED, "train_backend": backend, **shared, backend: {**SECTIONS[backend], **own}}
    if backend == "mindspeed_rl":
        tree |= {"model_name": "qwen2.5-7b", "dataset_additional_keys": ["problem"]}
    return tree, facts


def findings(tree: dict[str, Any], facts: dict[str, Any]) -> list[Finding]:
    validated = validate(tree, lambda key: None)
    assert validated.config is not None
    return [*validated.findings, *relate(validated, facts, lambda key: None)]


@given(runs())
def test_no_rule_fails(run: tuple[dict[str, Any], dict[str, Any]]) -> None:
    for finding in findings(*run):
        assert finding.message
        assert "\n" not in finding.message
        assert len(finding.message) < 600


@given(runs())
def test_a_proposed_number_of_inference_devices_is_valid(run: tuple[dict[str, Any], dict[str, Any]]) -> None:
    tree, facts = run
    codes = {"ARL270", "ARL271"}
    told = [one for one in findings(tree, facts) if one.code in codes]
    # Where both are found, the values of the second one suit both.
    for size in re.findall(r"\d+", told[-1].hint) if told else ():
        changed = {**tree, "infer_tensor_parallel_size": int(size)}
        found = {one.code for one in findings(changed, facts)}
        assert not found & ({told[-1].code} if len(told) == 1 else codes)


@given(runs())
def test_a_proposed_length_is_valid(run: tuple[dict[str, Any], dict[str, Any]]) -> None:
    tree, facts = run
    for one in findings(tree, facts):
        if one.code == "ARL240":
            length = re.search(r"max_model_len: (\d+)", one.hint)
            if length and int(length[1]) < 2**63:
                changed = {**tree, "max_model_len": int(length[1])}
                assert "ARL240" not in {other.code for other in findings(changed, facts)}
