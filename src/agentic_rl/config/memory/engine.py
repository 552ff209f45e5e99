"""The inference engine of verl and MindSpeed-RL, which takes its share of a device while it generates."""

from __future__ import annotations

from math import ceil

from agentic_rl.config.memory.estimate import Item
from agentic_rl.config.memory.model import ModelSizes
from agentic_rl.config.memory.settings import Settings, per_device
from agentic_rl.config.memory.sizes import show_count, show_size


def engine_items(
    settings: Settings, model: ModelSizes, devices: int, device_memory: int | None, there: int = 0
) -> list[Item]:
    """The engine's share where the device's memory is known, and otherwise what it would like to hold.

    vLLM fills its share whatever the sequences need: the cache takes what weights and a forward pass leave of it.
    `there` are the bytes that already lie on the device at its start and that it counts as part of the share.
    """
    weights, cache = _weights(settings, model), _cache(settings, model, devices)
    if device_memory is None:
        return [weights, cache]
    share = float(settings["gpu_memory_utilization"])
    formula = f"gpu_memory_utilization {share:g} x {show_size(device_memory)}"
    if there:
        formula += f", less {show_size(there)} of training that lie there when it starts"
    size, least = int(share * device_memory) - there, engine_minimum(settings, model)
    if there and size < least:
        return [Item("the engine's least", "rollout", least, f"its weights and one sequence; {formula}, is less")]
    formula += (
        f"; in it weights of {show_size(weights.bytes)} and a KV cache, of which {show_size(cache.bytes)} can be used"
    )
    return [Item("the engine's share", "rollout", size, formula, reserved=True)]


def engine_minimum(settings: Settings, model: ModelSizes) -> int:
    """Bytes without which an engine can't start: its weights and one sequence of `max_model_len` tokens."""
    return _weights(settings, model).bytes + _sequence_cache(settings, model)


def _weights(settings: Settings, model: ModelSizes) -> Item:
    parts = int(settings["infer_tensor_parallel_size"])
    formula = f"{show_count(model.parameters)} parameters x 2 bytes ({settings['dtype']}) / {parts} devices"
    return Item("the engine's weights", "rollout", per_device(2 * model.parameters, parts), formula)


def _sequence_cache(settings: Settings, model: ModelSizes) -> int:
    parts = min(int(settings["infer_tensor_parallel_size"]), model.kv_heads)
    return per_device(2 * model.cached * int(settings["max_model_len"]), parts)


def _cache(settings: Settings, model: ModelSizes, devices: int) -> Item:
    engines = max(1, devices // int(settings["infer_tensor_parallel_size"]))
    rows = min(int(settings["max_num_seqs"]), ceil(_rows(settings) / engines))
    formula = f"{rows} sequences (max_num_seqs, or those of a step) x {settings['max_model_len']} tokens, each "
    formula += show_size(_sequence_cache(settings, model))
    return Item("the engine's KV cache", "rollout", rows * _sequence_cache(settings, model), formula)


def _rows(settings: Settings) -> int:
    if settings.backend == "mindspeed_rl":
        return int(settings.own("global_batch_size")) * int(settings["rollout_n"])
    return settings.engine_rows
