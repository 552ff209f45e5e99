"""Keys that have no effect with the chosen backend, and the version of it where that was seen. The others act."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule

DEAD_KEY_RULES: list[Rule] = []


@dataclass(frozen=True)
class Dead:
    """Why a key has no effect."""

    reason: str
    hint: str = ""
    same: tuple[Any, ...] = ()
    """Values that say what happens anyway; written, they are no mistake."""
    severity: Severity = "warning"


@dataclass(frozen=True)
class DeadKeys:
    """What one backend does not use."""

    version: str
    """Where that was established; newer ones may differ."""
    keys: dict[str, Dead]
    """By dotted key."""


_NO_ENGINE = "the embedded engine of local has no such setting"
_ONE_DEVICE = "local runs on one device"
_GROUPS = "only gae discounts rewards, and local has grpo alone"
_NO_EXPERTS = "agentic-rl runs with 1"
_OUR_AGENTS = "only verl and local read it"

_EVERYWHERE = {
    "infer_expert_parallel_size": Dead(_NO_EXPERTS, "infer_expert_parallel_size: 1", (1,)),
    "num_scheduler_steps": Dead("nothing reads it", "remove it"),
}
_NOT_MINDSPEED = {
    "model_name": Dead("only mindspeed_rl reads it", severity="note"),
    "dataset_additional_keys": Dead("only mindspeed_rl reads it; parquet files bring their columns", "remove it"),
    "actor_rollout_dispatch_size": Dead("only mindspeed_rl reads it", "remove it"),
    "offload_train_grad": Dead("only mindspeed_rl reads it", "remove it", (False,)),
    "enable_expert_parallel": Dead("only mindspeed_rl reads it", "remove it", (False,)),
}

DEAD: dict[str, DeadKeys] = {
    "verl": DeadKeys(
        "verl 0.9.1",
        {
            **_EVERYWHERE,
            **_NOT_MINDSPEED,
            "infer_pipeline_parallel_size": Dead("verl runs with 1", "infer_pipeline_parallel_size: 1", (1,)),
            "clip_grad": Dead("verl reads verl.grad_clip instead", "write grad_clip below `verl:`"),
            "num_node": Dead("verl reads verl.nnodes instead", "write nnodes below `verl:`", (1,)),
            "offload_train_param": Dead(
                "verl reads verl.fsdp_param_offload instead", "fsdp_param_offload: true", (False,)
            ),
            "offload_train_optimizer": Dead(
                "verl reads verl.fsdp_optimizer_offload instead", "fsdp_optimizer_offload: true", (False,)
            ),
            "verl.balance_batch": Dead("verl always balances", "balance_batch: true", (True,)),
        },
    ),
    "mindspeed_rl": DeadKeys(
        "MindSpeed-RL master (05a90d7)",
        {
            **_EVERYWHERE,
            "use_kl_in_reward": Dead("mindspeed_rl has its own KL penalty, weighted by kl_coef", "remove it", (False,)),
            "enable_thinking": Dead(_OUR_AGENTS, "remove it"),
            "tool_parser": Dead(_OUR_AGENTS, "remove it", ("auto",)),
            "sandbox": Dead(_OUR_AGENTS, "remove it", ("full",)),
            "search": Dead(_OUR_AGENTS, "remove it"),
            "search_topk": Dead(_OUR_AGENTS, "remove it", (3,)),
        },
    ),
    "local": DeadKeys(
        "this version",
        {
            **_EVERYWHERE,
            **_NOT_MINDSPEED,
            "infer_pipeline_parallel_size": Dead(_ONE_DEVICE, "infer_pipeline_parallel_size: 1", (1,)),
            "infer_tensor_parallel_size": Dead(_ONE_DEVICE, "infer_tensor_parallel_size: 1", (1,)),
            "num_gpus_per_node": Dead(_ONE_DEVICE, "num_gpus_per_node: 1", (1,)),
            "num_node": Dead(_ONE_DEVICE, "num_node: 1", (1,)),
            "gamma": Dead(_GROUPS, "gamma: 1.0", (1.0,)),
            "lam": Dead(_GROUPS, "lam: 1.0", (1.0,)),
            "gpu_memory_utilization": Dead(_NO_ENGINE),
            "dtype": Dead("local computes in float32"),
            "enforce_eager": Dead(_NO_ENGINE, "enforce_eager: true", (True,)),
            "enable_prefix_caching": Dead(_NO_ENGINE, "enable_prefix_caching: false", (False,)),
            "clip_grad": Dead("local reads local.grad_clip instead", "write grad_clip below `local:`"),
            "offload_train_param": Dead(_ONE_DEVICE, "remove it", (False,)),
            "offload_train_optimizer": Dead(_ONE_DEVICE, "remove it", (False,)),
            "use_stepwise_advantage": Dead(
                "local takes a trajectory as one sample", "use_stepwise_advantage: false", (False,)
            ),
        },
    ),
}
"""Backend -> what it does not use."""


def acts_on(key: str) -> list[str]:
    """The backends with which `key` has an effect."""
    section = key.partition(".")[0] if "." in key else ""
    return [backend for backend, dead in DEAD.items() if key not in dead.keys and section in ("", backend)]


@rule(DEAD_KEY_RULES, "ARL200", "Key without effect", "warning")
def dead_key(facts: Facts) -> Iterator[Problem]:
    """The key is valid, but the chosen backend does not use it, or runs with a value of its own.

    Remove the key, or write the value that is used anyway. The reference page says with which backends a key acts.
    Another version of the backend than the one that the message names may differ.
    """
    backend = facts["train_backend"]
    version = DEAD[backend].version
    for key, dead in DEAD[backend].keys.items():
        value = facts.get(key)
        if facts.wrote(key) and value is not None and value not in dead.same:
            message = f"{show(value)} has no effect with train_backend {backend} (as of {version}): {dead.reason}"
            yield Problem(key, message, dead.hint, dead.severity)
