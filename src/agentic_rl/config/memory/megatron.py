"""MindSpeed-RL with Megatron: bfloat16 weights in tensor and pipeline parts, a distributed optimizer, an engine.

After the native settings that the flat format leads to (fused norms and SwiGLU, flash attention, sequence parallelism)
and MindSpeed-RL's defaults for the rest. Computed, not measured: no NPU was at hand.

The engine lives in the training process. vLLM of Ascend counts what that process already holds when the engine starts
as part of the engine's share (0.9 to 0.11, those of MindSpeed-RL): weights, gradients and float32 weights that are not
offloaded lie in the share, and only AdamW's moments, which the first update makes, come on top.
"""

from __future__ import annotations

from agentic_rl.config.memory.engine import engine_items
from agentic_rl.config.memory.estimate import Item, Phase
from agentic_rl.config.memory.model import ModelSizes
from agentic_rl.config.memory.settings import Settings, per_device
from agentic_rl.config.memory.sizes import show_count


def items(settings: Settings, model: ModelSizes, device_memory: int | None) -> list[Item]:
    """What one device holds while training with `mindspeed_rl`."""
    devices = int(settings["num_gpus_per_node"]) * int(settings["num_node"])
    states = _states(settings, model, devices)
    return [
        *states,
        *_update(settings, model),
        *engine_items(settings, model, devices, device_memory, _at_the_start(states)),
    ]


def _at_the_start(states: list[Item]) -> int:
    """Bytes that lie on the device when the engine starts: of the optimizer only its float32 weights, a third."""
    held = {item.name: item.bytes for item in states if item.phase == "always"}
    return sum(held.values()) - 2 * (held.get("optimizer", 0) // 3)


def _parts(settings: Settings) -> int:
    return int(settings.own("tensor_model_parallel_size")) * int(settings.own("pipeline_model_parallel_size"))


def _states(settings: Settings, model: ModelSizes, devices: int) -> list[Item]:
    parts = _parts(settings)
    replicas = max(1, devices // parts)
    count = show_count(model.parameters)
    among = f"/ {parts} parts (tensor x pipeline)"
    states = [
        Item(
            "weights",
            _phase(settings, "offload_train_param"),
            per_device(2 * model.parameters, parts),
            f"{count} parameters x 2 bytes (bfloat16) {among}",
        ),
        Item(
            "gradients",
            _phase(settings, "offload_train_grad"),
            per_device(4 * model.parameters, parts),
            f"{count} parameters x 4 bytes (float32) {among}",
        ),
    ]
    if not settings.own("swap_optimizer"):
        formula = f"{count} parameters x 12 bytes (float32 weights, AdamW's moments) {among} / {replicas} replicas"
        size = per_device(12 * model.parameters, parts * replicas)
        states.append(Item("optimizer", _phase(settings, "offload_train_optimizer"), size, formula))
    return states


def _phase(settings: Settings, offload: str) -> Phase:
    return "update" if settings[offload] else "always"


def _update(settings: Settings, model: ModelSizes) -> list[Item]:
    tensor = int(settings.own("tensor_model_parallel_size"))
    tokens = int(settings.own("micro_batch_size")) * int(settings.own("seq_len"))
    whole, again = _kept_layers(settings, model)
    size = per_device(2 * tokens * (model.fused_activations * whole + model.hidden * (again + 1)), tensor)
    return [
        Item(
            "activations",
            "update",
            size,
            f"{tokens} tokens of a micro batch x 2 bytes / {tensor} tensor-parallel devices: {model.fused_activations} "
            f"numbers x {whole} layers, hidden size {model.hidden} x {again} layers that are computed again",
        ),
        Item(
            "logits and their gradients",
            "update",
            per_device(tokens * model.vocabulary * 10, tensor),
            f"{tokens} tokens x vocabulary {model.vocabulary} x 10 bytes / {tensor} tensor-parallel devices",
        ),
    ]


def _kept_layers(settings: Settings, model: ModelSizes) -> tuple[int, int]:
    """Layers kept whole and layers of which only the input is kept, for the first pipeline stage.

    That stage has as many micro batches in flight as there are stages, so it keeps as much as all layers of one.
    """
    if settings.values.get("mindspeed_rl.recompute_granularity") != "full":
        return model.layers, 0
    if settings.values.get("mindspeed_rl.recompute_method") == "block":
        stages = int(settings.own("pipeline_model_parallel_size"))
        again = min(model.layers, int(settings.own("recompute_num_layers")) * stages)
        return model.layers - again + 1, again
    return 1, model.layers
