"""Training and inference apart (`one_step_off`): what verl's `separate_async` needs beyond a hybrid run.

Needs neither verl nor Ray.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.backends.verl.demand import SIZES, server_size
from agentic_rl.backends.verl.inside.names import CHECKPOINT_ENGINE, WEIGHT_CHANNEL

MODE = "separate_async"
BATCH = "data.train_batch_size"
MINI_BATCH = "actor_rollout_ref.actor.ppo_mini_batch_size"
ROLLOUT = "actor_rollout_ref.rollout"
ENGINE = f"{ROLLOUT}.checkpoint_engine"
SEPARATE = "trainer.v1.separate_async"
HYBRID, SWITCH = "actor_rollout_ref.hybrid_engine", f"{SEPARATE}.hybrid_rollout.enable_switch"
SYNC_STEP = f"{SEPARATE}.parameter_sync_step"
WARMUP = f"{SEPARATE}.num_warmup_batches"
SAMPLER = "trainer.v1.sampler"
THRESHOLD, STRATEGY = f"{SAMPLER}.max_off_policy_threshold", f"{SAMPLER}.max_off_policy_strategy"

BACKENDS = {"cpu": WEIGHT_CHANNEL, "cuda": "nccl", "npu": "nccl"}
"""Device -> the checkpoint engine that takes the place of `naive`; verl's own for NPUs is called nccl, too."""
VLLM_KEYS = {
    "tensor_parallel_size": "tensor_model_parallel_size",
    "data_parallel_size": "data_parallel_size",
    "pipeline_parallel_size": "pipeline_model_parallel_size",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "enable_chunked_prefill": "enable_chunked_prefill",
    "enable_prefix_caching": "enable_prefix_caching",
    "enforce_eager": "enforce_eager",
    "dtype": "dtype",
    "seed": "seed",
}
"""An option of vLLM -> the key of `rollout` by which verl sets it."""


@dataclass(frozen=True)
class Remark:
    """What is to be said about one of verl's keys."""

    key: str
    message: str
    hint: str = ""


@dataclass
class Changes:
    """What is set in the native configuration, and what is said of it."""

    values: dict[str, Any] = field(default_factory=dict)
    """verl's dotted key -> value."""
    notes: list[Remark] = field(default_factory=list)
    """Where the file says something else."""
    problems: list[Remark] = field(default_factory=list)
    """What can't be."""


def settings(
    native: Mapping[str, Any],
    training_nodes: int,
    inference_nodes: int,
    inference: Mapping[str, Any] | None = None,
    written: Container[str] = (),
) -> Changes:
    """What to change in a native configuration so that training and inference run apart, at most one step.

    Args:
        native: verl's complete configuration; its `trainer.device` is verl's word.
        training_nodes: nodes that train.
        inference_nodes: nodes that infer; with one machine for both, 1.
        inference: options of the inference servers by vLLM's names, with `_`; they win over `rollout`.
        written: native keys that a person has written: what takes their place is said, defaults change silently.
    """
    changes = Changes()
    values = changes.values
    values["trainer.v1.trainer_mode"] = MODE
    values["trainer.nnodes"] = training_nodes
    values[f"{ROLLOUT}.nnodes"] = inference_nodes
    _lend_no_devices(changes, native, written)
    _take_inference(changes, inference or {})
    _choose_engine(changes, native, written)
    _divide_batch(changes, native, written)
    _stay_close(changes, native, written)
    changes.problems += _servers_that_do_not_fit(changes, native)
    return changes


def applied(native: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of `native` with `values` at their dotted keys."""
    changed: dict[str, Any] = dict(native)
    for key, value in values.items():
        changed = _with(changed, key.split("."), value)
    return changed


def at(native: Mapping[str, Any], key: str, default: Any = None) -> Any:
    """The value at a dotted key."""
    node: Any = native
    for name in key.split("."):
        if not isinstance(node, Mapping) or name not in node:
            return default
        node = node[name]
    return node


def _with(node: Mapping[str, Any], names: list[str], value: Any) -> dict[str, Any]:
    first, *rest = names
    below = node.get(first)
    return {**node, first: _with(below if isinstance(below, Mapping) else {}, rest, value) if rest else value}


def _take_inference(changes: Changes, inference: Mapping[str, Any]) -> None:
    for name, value in inference.items():
        if value is not None:
            key = f"{ROLLOUT}.{VLLM_KEYS[name]}" if name in VLLM_KEYS else f"{ROLLOUT}.engine_kwargs.vllm.{name}"
            changes.values[key] = value


def _lend_no_devices(changes: Changes, native: Mapping[str, Any], written: Container[str]) -> None:
    """Those that train never infer."""
    for key in (HYBRID, SWITCH):
        changes.values[key] = False
        if at(native, key) and key in written:
            message = "true would run inference on the devices that train as well; with one_step_off it is false"
            changes.notes.append(Remark(key, message, "false"))


def _choose_engine(changes: Changes, native: Mapping[str, Any], written: Container[str]) -> None:
    device, key = at(native, "trainer.device", "cuda"), f"{ENGINE}.backend"
    backend = at(native, key, "naive")
    if backend != "naive" and device != "cpu":
        return
    chosen = BACKENDS[device]
    changes.values[key] = chosen
    if chosen == WEIGHT_CHANNEL:
        changes.values[f"{ENGINE}.custom_backend_module"] = CHECKPOINT_ENGINE
    if key in written and backend != chosen:
        why = "copies weights within a process" if backend == "naive" else "needs accelerators"
        message = f"{backend} {why}; with one_step_off on {device} the weights travel by {chosen}"
        changes.notes.append(Remark(key, message, chosen))


def _divide_batch(changes: Changes, native: Mapping[str, Any], written: Container[str]) -> None:
    batch, mini, steps = (at(native, key) for key in (BATCH, MINI_BATCH, SYNC_STEP))
    if not _positive(batch) or not _positive(mini):  # another rule speaks of that
        return
    if SYNC_STEP in written:
        if _positive(steps) and batch != steps * mini:
            message = f"{batch} prompts, but one_step_off takes parameter_sync_step {steps} x "
            message += f"ppo_mini_batch_size {mini} = {steps * mini}"
            changes.problems.append(Remark(BATCH, message, str(steps * mini)))
        return
    if batch % mini:
        message = f"{batch} prompts are not whole mini batches of {mini} (ppo_mini_batch_size), and with one_step_off "
        message += "the weights are sent after a number of them"
        changes.problems.append(Remark(BATCH, message, str(-(-batch // mini) * mini)))
        return
    changes.values[SYNC_STEP] = batch // mini


def _stay_close(changes: Changes, native: Mapping[str, Any], written: Container[str]) -> None:
    """At most one batch ahead, and none is taken while an older one is unfinished: see `inside.separate_trainer`."""
    warmup = at(native, WARMUP, 1)
    ahead = warmup if isinstance(warmup, (int, float)) and 0 <= warmup <= 1 else 1
    for key, value in ((WARMUP, ahead), (THRESHOLD, 2), (STRATEGY, "wait")):
        given = at(native, key)
        changes.values[key] = value
        if key in written and given != value:
            message = f"{given}, but with one_step_off samples are at most one step old, which takes {value}"
            changes.notes.append(Remark(key, message, str(value)))


def _servers_that_do_not_fit(changes: Changes, native: Mapping[str, Any]) -> Iterator[Remark]:
    rollout = at(applied(native, changes.values), ROLLOUT)
    devices, nodes = rollout.get("n_gpus_per_node"), rollout.get("nnodes")
    if not all(map(_positive, (devices, nodes, *(rollout.get(name, 1) for name in SIZES)))):
        return
    size = server_size(rollout)
    key = f"{ROLLOUT}.tensor_model_parallel_size"
    there = f"{nodes} nodes x {devices} devices to infer"
    if size > devices and size % devices:
        yield Remark(key, f"a server of {size} devices does not fill whole nodes of {devices}", f"at most {devices}")
    elif devices * nodes % size:
        yield Remark(key, f"{there} are not whole servers of {size} devices: some would be left over", "a divisor")
    elif size > devices and at(native, "trainer.device") == "cpu":
        message = f"a server of {size} processes does not fit on a node ({there}), and on CPUs it can't span several"
        yield Remark(key, message, f"at most {devices}")


def _positive(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
