"""MindSpeed-RL's verdicts on its own configurations, and those configurations in the flat format.

    python tests/mindspeed_oracle.py mindspeed-rl-oracle.json > tests/data/mindspeed_rl/oracle.json

writes the copy of what can be expressed.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat import validate

FLAT_KEYS = {
    "megatron_training|model": "model_name",
    "actor_config|model": "model_name",
    "megatron_training|tokenizer_name_or_path": "tokenizer_name_or_path",
    "megatron_training|dataset_additional_keys": "dataset_additional_keys",
    "megatron_training|data_path": "mindspeed_rl.data_path",
    "megatron_training|global_batch_size": "mindspeed_rl.global_batch_size",
    "megatron_training|seq_length": "mindspeed_rl.seq_len",
    "megatron_training|save_interval": "mindspeed_rl.save_interval",
    "megatron_training|train_iters": "mindspeed_rl.train_iters",
    "megatron_training|recompute_granularity": "mindspeed_rl.recompute_granularity",
    "megatron_training|recompute_method": "mindspeed_rl.recompute_method",
    "megatron_training|recompute_num_layers": "mindspeed_rl.recompute_num_layers",
    "megatron_training|shape_order": "mindspeed_rl.shape_order",
    "megatron_training|moe_alltoall_overlap_comm": "mindspeed_rl.moe_alltoall_overlap_comm",
    "megatron_training|swap_optimizer": "mindspeed_rl.swap_optimizer",
    "megatron_training|moe_tp_extend_ep": "mindspeed_rl.moe_tp_extend_ep",
    "megatron_training|gemm_gradient_accumulation_fusion": "mindspeed_rl.gemm_gradient_accumulation_fusion",
    "megatron_training|variable_seq_lengths": "mindspeed_rl.variable_seq_lengths",
    "megatron_training|reset_position_ids": "mindspeed_rl.reset_position_ids",
    "actor_config|micro_batch_size": "mindspeed_rl.micro_batch_size",
    "actor_config|tensor_model_parallel_size": "mindspeed_rl.tensor_model_parallel_size",
    "actor_config|pipeline_model_parallel_size": "mindspeed_rl.pipeline_model_parallel_size",
    "actor_config|expert_model_parallel_size": "mindspeed_rl.expert_model_parallel_size",
    "actor_config|load": "mindspeed_rl.load_params_path",
    "actor_config|save": "mindspeed_rl.save_params_path",
    "actor_config|lr": "lr",
    "actor_config|min_lr": "min_lr",
    "actor_config|weight_decay": "weight_decay",
    "actor_config|lr_warmup_fraction": "lr_warmup_fraction",
    "actor_config|clip_grad": "clip_grad",
    "rl_config|use_remove_padding": "mindspeed_rl.use_remove_padding",
    "rl_config|blocking": "mindspeed_rl.blocking",
    "rl_config|adv_estimator": "mindspeed_rl.adv_estimator",
    "rl_config|epochs": "mindspeed_rl.epochs",
    "rl_config|mini_batch_size": "mindspeed_rl.mini_batch_size",
    "rl_config|gamma": "gamma",
    "rl_config|lam": "lam",
    "rl_config|kl_horizon": "kl_horizon",
    "rl_config|kl_target": "kl_target",
    "rl_config|kl_penalty": "kl_penalty",
    "rl_config|kl_ctrl_type": "kl_ctrl_type",
    "rl_config|init_kl_coef": "kl_coef",
    "rl_config|max_prompt_length": "max_prompt_length",
    "rl_config|clip_ratio": "clip_ratio",
    "rl_config|entropy_coeff": "entropy_coeff",
    "rl_config|n_samples_per_prompt": "rollout_n",
    "rl_config|use_tensorboard": "use_tensorboard",
    "rl_config|actor_rollout_dispatch_size": "actor_rollout_dispatch_size",
    "generate_config|enforce_eager": "enforce_eager",
    "generate_config|enable_expert_parallel": "enable_expert_parallel",
    "generate_config|trust_remote_code": "trust_remote_code",
    "generate_config|infer_tensor_parallel_size": "infer_tensor_parallel_size",
    "generate_config|infer_pipeline_parallel_size": "infer_pipeline_parallel_size",
    "generate_config|infer_expert_parallel_size": "infer_expert_parallel_size",
    "generate_config|max_num_seqs": "max_num_seqs",
    "generate_config|max_model_len": "max_model_len",
    "generate_config|max_num_batched_tokens": "max_num_batched_tokens",
    "generate_config|dtype": "dtype",
    "generate_config|gpu_memory_utilization": "gpu_memory_utilization",
    "generate_config|offload_train_optimizer": "offload_train_optimizer",
    "generate_config|offload_train_grad": "offload_train_grad",
    "generate_config|offload_train_param": "offload_train_param",
    "generate_config|enable_prefix_caching": "enable_prefix_caching",
    "generate_config|num_scheduler_steps": "num_scheduler_steps",
    "generate_config|sampling_config|max_tokens": "max_tokens",
    "generate_config|sampling_config|top_p": "top_p",
    "generate_config|sampling_config|top_k": "top_k",
    "generate_config|sampling_config|min_p": "min_p",
    "generate_config|sampling_config|temperature": "temperature",
}
"""MindSpeed-RL's key, sections parted by `|`, -> the flat key."""

DEVICES = "rl_config|actor_resource|num_npus"
"""All devices together: the flat format writes them as devices of a node times nodes."""

OUT_OF_RANGE = frozenset({"ARL030", "ARL031", "ARL032", "ARL112", *(f"ARL10{digit}" for digit in range(1, 6))})
"""Codes of single values outside what the flat format documents, so that it can't express the case."""


def leaves(tree: dict[str, Any], path: str = "") -> dict[str, Any]:
    """The values of a nested mapping by their path."""
    found: dict[str, Any] = {}
    for name, value in tree.items():
        inner = f"{path}|{name}" if path else name
        found |= leaves(value, inner) if isinstance(value, dict) else {inner: value}
    return found


def to_flat(base: dict[str, Any], case: dict[str, Any]) -> dict[str, Any] | None:
    """The flat configuration of a case; None where it sets, or leaves out, what the flat format has no key for."""
    overrides, nodes = case["overrides"], case["nodes"]
    if case["drop"] or not overrides.keys() <= {*FLAT_KEYS, DEVICES}:
        return None
    native = {**leaves(base), **overrides}
    if not isinstance(native[DEVICES], int) or native[DEVICES] % nodes:
        return None
    tree: dict[str, Any] = {"agent_name": "math", "train_backend": "mindspeed_rl", "mindspeed_rl": {}}
    for key, flat in FLAT_KEYS.items():
        section, _, name = flat.rpartition(".")
        # Two native keys have the flat name model_name; the one that a case sets is the one that counts.
        if key in native and (key in overrides or flat not in {FLAT_KEYS.get(one) for one in overrides}):
            (tree[section] if section else tree)[name] = native[key]
    return tree | {"num_gpus_per_node": native[DEVICES] // nodes, "num_node": nodes}


def errors(tree: dict[str, Any]) -> list[Finding]:
    """What makes a flat configuration invalid."""
    return [one for one in validate(tree, lambda key: None).findings if one.severity == "error"]


def expressible(reference: dict[str, Any]) -> dict[str, Any]:
    """The cases that the flat format can express: the base, and of each case the changes and the verdict of master."""
    (valid,) = (case for case in reference["cases"] if case["id"] == "base")
    base = to_flat(reference["base"], valid) or {}
    cases = []
    for case in reference["cases"]:
        tree = to_flat(reference["base"], case)
        if tree is None or OUT_OF_RANGE & {one.code for one in errors(tree)}:
            continue
        old = leaves(base)
        changes = {key.replace("|", "."): value for key, value in leaves(tree).items() if value != old.get(key)}
        cases.append({"id": case["id"], "changes": changes, "master": case["msrl"]["master"]})
    return {"base": base, "cases": cases}


if __name__ == "__main__":
    found = expressible(json.loads(Path(sys.argv[1]).read_text()))
    lines = ",\n".join(json.dumps(case) for case in found["cases"])
    sys.stdout.write(f'{{"base": {json.dumps(found["base"])},\n"cases": [\n{lines}\n]}}\n')
