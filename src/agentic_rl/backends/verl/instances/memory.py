"""verl's values under the keys of the flat format, by which the memory of a device is estimated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def flat_values_of(native: Mapping[str, Any], device: str) -> dict[str, Any]:
    """The values that the estimate asks for.

    Args:
        native: verl's complete configuration.
        device: npu, gpu or cpu.
    """
    trainer, data, algorithm = native["trainer"], native["data"], native["algorithm"]
    actor, rollout = native["actor_rollout_ref"]["actor"], native["actor_rollout_ref"]["rollout"]
    sharding = actor.get("fsdp_config") or {}
    length = rollout["prompt_length"] + rollout["response_length"]
    micro = actor.get("ppo_micro_batch_size_per_gpu") or 1
    tokens = actor["ppo_max_token_len_per_gpu"] if actor["use_dynamic_bsz"] else micro * length
    return {
        "train_backend": "verl",
        "device": device,
        "num_gpus_per_node": trainer["n_gpus_per_node"],
        "infer_tensor_parallel_size": rollout["tensor_model_parallel_size"],
        "gpu_memory_utilization": rollout["gpu_memory_utilization"],
        "max_num_seqs": rollout["max_num_seqs"],
        "max_num_batched_tokens": rollout["max_num_batched_tokens"],
        "max_model_len": rollout["max_model_len"] or length,
        "max_prompt_length": rollout["prompt_length"],
        "dtype": rollout["dtype"],
        "enforce_eager": rollout["enforce_eager"],
        "rollout_n": rollout["n"],
        "use_kl_in_reward": algorithm["use_kl_in_reward"],
        "test_only": bool(trainer["val_only"]),
        "test_before_train": bool(trainer["val_before_train"]),
        "verl.nnodes": trainer["nnodes"],
        "verl.train_batch_size": data["train_batch_size"],
        "verl.val_batch_size": data["val_batch_size"] or 1,
        "verl.ppo_mini_batch_size": actor["ppo_mini_batch_size"],
        "verl.ppo_max_token_len_per_gpu": tokens,
        "verl.max_response_length": rollout["response_length"],
        "verl.use_kl_loss": actor["use_kl_loss"],
        "verl.val_before_train": bool(trainer["val_before_train"]),
        "verl.val_only": bool(trainer["val_only"]),
        "verl.test_freq": trainer["test_freq"],
        "verl.adv_estimator": algorithm["adv_estimator"],
        "verl.fsdp_param_offload": bool(sharding.get("param_offload")),
        "verl.fsdp_optimizer_offload": bool(sharding.get("optimizer_offload")),
        "verl.entropy_from_logits_with_chunking": bool(actor.get("entropy_from_logits_with_chunking")),
    }
