"""The local backend: one process, everything in float32, a ragged engine beside the learner.

Checked against what is measured by `benchmarks/memory.py`.
"""

from __future__ import annotations

from agentic_rl.config.memory.estimate import Item
from agentic_rl.config.memory.local_rows import MicroBatch, largest_micro_batch
from agentic_rl.config.memory.model import ModelSizes
from agentic_rl.config.memory.settings import Settings
from agentic_rl.config.memory.sizes import show_count

_FLOAT = 4
_FIRST_POOL, _FEWEST_SLOTS, _ROOM = 64, 16, 32
"""The engine's pools of its KV cache: the smallest capacity, the fewest slots, room for a new row's first tokens."""
_SAMPLING_COPIES = 6
"""Logits, divided by the temperature, probabilities, those kept, and their sums in double precision."""
_LOGITS = {"entropy": 7, "chunked": 5, "alone": 4}
"""Tensors of the logits' size at the peak of a micro batch. With an entropy bonus: logits, log-probabilities,
probabilities, and four gradients of them; in chunks, or without the bonus, fewer live at a time."""


def items(settings: Settings, model: ModelSizes) -> list[Item]:
    """What one device holds while training with `local`."""
    return [*_held(settings, model), _rollout(settings, model), *_update(settings, model)]


def _held(settings: Settings, model: ModelSizes) -> list[Item]:
    count = show_count(model.parameters)
    held = [
        Item("weights", "always", _FLOAT * model.parameters, f"{count} parameters x 4 bytes (float32)"),
        Item("gradients", "always", _FLOAT * model.parameters, f"{count} parameters x 4 bytes, kept between updates"),
        Item("optimizer", "always", 2 * _FLOAT * model.parameters, f"{count} parameters x 8 bytes (AdamW's moments)"),
        Item(
            "engine's copy of the layers",
            "always",
            _FLOAT * model.in_layers,
            f"{show_count(model.in_layers)} parameters of the layers x 4 bytes",
        ),
    ]
    if settings.reference_model:
        formula = f"{count} parameters x 4 bytes (a KL divergence is asked for)"
        held.append(Item("reference model", "always", _FLOAT * model.parameters, formula))
    return held


def _rollout(settings: Settings, model: ModelSizes) -> Item:
    """Either the cache with a step of the engine, or the layers' copy made anew: they never lie there together."""
    working = _cache(settings, model)
    again = _FLOAT * model.in_layers
    if again <= working.bytes:
        return working
    formula = f"{show_count(model.in_layers)} parameters of the layers x 4 bytes, before the old copy goes"
    return Item("engine's new copy of the layers", "rollout", again, formula)


def _cache(settings: Settings, model: ModelSizes) -> Item:
    rows = min(settings.engine_rows, int(settings["max_num_seqs"]))
    slots = max(_FEWEST_SLOTS, 1 << (rows - 1).bit_length())
    tokens = slots * sum(_capacities(settings))
    cache = _FLOAT * model.cached * tokens
    prompt = settings.longest_sample - settings.response
    fed = min(int(settings["max_num_batched_tokens"]), rows * prompt)
    step = _FLOAT * fed * (2 * model.hidden + 2 * model.queries + 2 * model.keys + 3 * model.intermediate)
    sampling = _FLOAT * _SAMPLING_COPIES * rows * model.vocabulary
    formula = (
        f"{slots} slots for {rows} sequences, pools of {' + '.join(map(str, _capacities(settings)))} tokens, "
        f"{show_count(model.cached)} numbers a token x 4 bytes; a step of {fed} tokens, logits of {rows} sequences"
    )
    return Item("KV cache and a step of the engine", "rollout", cache + max(step, sampling), formula)


def _capacities(settings: Settings) -> list[int]:
    """Capacities of the pools that rows pass through from the prompt to their greatest length."""
    longest, limit = settings.longest_sample, int(settings["max_model_len"])
    first = min(longest - settings.response + _ROOM, longest)
    capacities = [min(_FIRST_POOL, limit)]
    while capacities[-1] < longest:
        capacities.append(min(2 * capacities[-1], limit))
    return [capacity for capacity in capacities if capacity >= first] or capacities[-1:]


def _update(settings: Settings, model: ModelSizes) -> list[Item]:
    micro = largest_micro_batch(settings, model)
    return [_activations(micro, model), _backward(settings, micro, model)]


def _activations(micro: MicroBatch, model: ModelSizes) -> Item:
    numbers = model.replicated_activations + model.split_activations
    mask = 0
    if micro.masked:
        # A mask makes attention expand keys and values to all query heads; each layer keeps its own as numbers.
        numbers += 2 * (model.queries - model.keys)
        mask = micro.rows * micro.length**2
    last = 3 * model.hidden
    size = _FLOAT * micro.tokens * (numbers * model.layers + last) + mask * (1 + _FLOAT * model.layers)
    formula = (
        f"{micro.tokens} tokens of a micro batch ({micro.rows} rows) x {model.layers} layers x "
        f"{numbers} numbers a token x 4 bytes, none computed again"
    )
    if micro.masked:
        formula += f"; masks of {micro.rows} x {micro.length}^2 in each layer, for prompts that samples share"
    return Item("activations", "update", size, formula)


def _backward(settings: Settings, micro: MicroBatch, model: ModelSizes) -> Item:
    """The logits' part of the backward pass, or the layers': the first is over before the second begins."""
    kind = "alone" if not settings["entropy_coeff"] else "entropy"
    if kind == "entropy" and settings.own("entropy_from_logits_with_chunking"):
        kind = "chunked"
    logits = _FLOAT * _LOGITS[kind] * micro.written * model.vocabulary
    largest = _FLOAT * model.embedding
    layer = _FLOAT * micro.tokens * (2 * model.hidden + 3 * model.intermediate)
    if logits >= largest + layer:
        formula = f"{micro.written} written tokens x vocabulary {model.vocabulary} x {_LOGITS[kind]} tensors x 4 bytes"
        return Item("logits and their gradients", "update", logits, formula)
    formula = f"embedding {show_count(model.embedding)} x 4 bytes, and {micro.tokens} tokens of one layer"
    return Item("gradients on their way", "update", largest + layer, formula)
