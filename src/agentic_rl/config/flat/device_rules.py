"""Devices: how inference shares them, and how many the environment shows (ARL270-272)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.in_force import devices, devices_told, nodes_key, origin, wrote_any
from agentic_rl.config.rules import Facts, Problem, Rule, rule

DEVICES: list[Rule] = []
MODEL_DEVICES: list[Rule] = []
"""Rules that also need the model or the environment."""

_TENSOR = "infer_tensor_parallel_size"
_MOST = 1024
"""No engine shares a model between more devices."""


@rule(DEVICES, "ARL270", "Inference devices that do not divide the devices", "error")
def inference_devices(facts: Facts) -> Iterator[Problem]:
    """`infer_tensor_parallel_size` devices make one inference engine, so it must divide all devices of the run.

    Devices are `num_gpus_per_node` times the nodes. An engine of verl lies on one node, or takes whole nodes. verl
    refuses anything else; MindSpeed-RL's own check lets it pass, and its workers stop: a warning.
    """
    backend = facts["train_backend"]
    size, count = facts[_TENSOR], devices(facts)
    if backend == "local" or size <= 1 or _fits(facts, size) or (backend == "mindspeed_rl" and size > count):
        return
    message = f"{show(size)}{origin(facts, _TENSOR)} does not divide {devices_told(facts)}"
    if count % size == 0:
        message = f"{show(size)} devices of one engine lie on more than one node, but fill no whole number of them: "
        message += devices_told(facts)
    severity: Severity = "error" if wrote_any(facts, (_TENSOR, "num_gpus_per_node", nodes_key(facts))) else "warning"
    if backend == "mindspeed_rl":
        severity = "warning"
        message += f": {show(count % size)} devices are left without an engine, and MindSpeed-RL's workers stop"
    yield Problem(_TENSOR, message, _usable(_fitting(facts)), severity)


@rule(MODEL_DEVICES, "ARL271", "Inference devices that do not divide the attention heads", "error")
def attention_heads(facts: Facts) -> Iterator[Problem]:
    """Each device of an inference engine takes an equal share of the attention heads, as vLLM demands.

    So `infer_tensor_parallel_size` divides the heads (`num_attention_heads` of `config.json`). Heads of keys and values
    may be fewer than the devices: then each is copied to an equal number of devices, else they are shared as well.
    The usual values 1, 2, 4 and 8 do not suit every model: 28 heads can't be shared by 8 devices.
    """
    size, heads = facts[_TENSOR], facts["@model.num_attention_heads"]
    kv_heads = facts.get("@model.num_key_value_heads") or heads
    if facts["train_backend"] == "local" or shares(size, heads, kv_heads):
        return
    what = f"{show(heads)} attention heads" if heads % size else f"{show(kv_heads)} heads of keys and values"
    message = f"{show(size)}{origin(facts, _TENSOR)} devices can't share the model's {what} evenly"
    usable = [one for one in _fitting(facts) if shares(one, heads, kv_heads)]
    yield Problem(_TENSOR, message, _usable(usable))


@rule(MODEL_DEVICES, "ARL272", "Fewer devices visible than asked for", "warning")
def visible_devices(facts: Facts) -> Iterator[Problem]:
    """`ASCEND_RT_VISIBLE_DEVICES` and `CUDA_VISIBLE_DEVICES` hide devices from what is started in their environment.

    They are read as the runtimes read them: of `0,1, 2` CANN takes only 0 and 1, because of the space; CUDA takes
    what stands before the first number that is no device, and nothing where a device is named twice. This looks at
    the environment of the check; started elsewhere, the run may see others. Unset the variable, or ask for fewer.
    """
    variable, shown = facts["@machine.visible_variable"], facts["@machine.visible_devices"]
    if facts["train_backend"] == "local":
        if shown == 0 and facts["device"] in ("npu", "gpu"):
            yield Problem("device", f"{facts['device']}, but {variable} shows no device here", f"unset {variable}")
        return
    key = "num_gpus_per_node"
    wanted = facts[key]
    if shown < wanted:
        message = f"{show(wanted)} devices{origin(facts, key)}, but {variable} shows {show(shown)} here"
        yield Problem(key, message, f"{key}: {show(shown)}, or unset {variable}" if shown else f"unset {variable}")


def _fits(facts: Facts, size: int) -> bool:
    """Whether engines of `size` devices use all devices, and no node in part together with others."""
    per_node = facts["num_gpus_per_node"]
    whole_nodes = facts["train_backend"] != "verl" or size <= per_node or size % per_node == 0
    return bool(devices(facts) % size == 0 and whole_nodes)


def _fitting(facts: Facts) -> list[int]:
    return [size for size in range(1, min(devices(facts), _MOST) + 1) if _fits(facts, size)]


def shares(size: int, heads: int, kv_heads: int) -> bool:
    """Whether `size` devices take equal parts of the heads; those of keys and values may be copied."""
    even = size % kv_heads == 0 if size >= kv_heads else kv_heads % size == 0
    return heads % size == 0 and even


def _usable(sizes: Iterable[int]) -> str:
    listed = [show(size) for size in sizes][:12]
    return f"{_TENSOR}: {' or '.join(filter(None, [', '.join(listed[:-1]), listed[-1]]))}"
