"""MindSpeed-RL with Megatron: bfloat16 weights in tensor and pipeline parts, a distributed optimizer, an engine.

After MindSpeed-RL's defaults for what the flat format has no key for. Not measured: no NPU was at hand.
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
    return [
        *_states(settings, model, devices),
        *_update(settings, model),
        *engine_items(settings, model, devices, device_memory),
    ]


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
    numbers = model.replicated_activations + model.split_activations // tensor
    whole, again = _kept_layers(settings, model)
    size = 2 * tokens * (numbers * whole + model.hidden * (again + 1))
    return [
        Item(
            "activations",
            "update",
            size,
            f"{tokens} tokens of a micro batch x 2 bytes: {numbers} numbers x {whole} layers, "
            f"hidden size {model.hidden} x {again} layers that are computed again",
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
