"""What MindSpeed-RL's workers refuse on the devices, later than its own check: warnings, but for ARL225."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from agentic_rl.config.flat.backend_rules import MIXTURES
from agentic_rl.config.flat.batches import KEYS, Layout, layout_of, table
from agentic_rl.config.flat.device_rules import shares
from agentic_rl.config.flat.in_force import origin
from agentic_rl.config.flat.mindspeed_rules import accepted
from agentic_rl.config.flat.nearest import Change, divisors, nearest, remedy
from agentic_rl.config.flat.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule

WORKER_RULES: list[Rule] = []
WORKER_MODEL_RULES: list[Rule] = []
"""Rules that need the model's config.json."""

_TENSOR, _MINI = KEYS["mindspeed_rl"]["tensor"], KEYS["mindspeed_rl"]["mini"]
_WORDS = {
    "mindspeed_rl.recompute_granularity": ("full", "selective"),
    "mindspeed_rl.recompute_method": ("uniform", "block"),
}
_EXPERTS = "mindspeed_rl.expert_model_parallel_size"
_EXTEND = "mindspeed_rl.moe_tp_extend_ep"


def _hint(layout: Layout, changes: list[Change]) -> str:
    return "\n".join([remedy(layout, changes) or "see the table", *table(layout)])


@rule(WORKER_RULES, "ARL225", "Packing that MindSpeed-RL refuses", "error")
def packing(facts: Facts) -> Iterator[Problem]:
    """MindSpeed-RL packs samples (`use_remove_padding`) only with `reset_attention_mask`, which this format lacks.

    So its own check refuses the switch, with or without `reset_position_ids`. Only MindSpeed-RL 2.2.0 took
    `reset_position_ids` (and `variable_seq_lengths` with pipeline stages) in its place.
    """
    key = "mindspeed_rl.use_remove_padding"
    if facts["train_backend"] == "mindspeed_rl" and facts[key]:
        message = "refused by MindSpeed-RL: packing needs reset_attention_mask, which the flat format can't set"
        yield Problem(key, message, "use_remove_padding: false")


@rule(WORKER_RULES, "ARL226", "Mini batch smaller than one sample on each rank", "warning")
def mini_batch_of_nothing(facts: Facts) -> Iterator[Problem]:
    """`mini_batch_size` counts prompts over all ranks; with `rollout_n` samples each, every rank needs at least one.

    MindSpeed-RL does not look at it; its training workers stop at the first update.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    layout = layout_of(facts)
    samples = layout.mini * layout.group
    if samples >= layout.ranks:
        return
    message = f"{show(layout.mini)} prompts{origin(facts, _MINI)} x rollout_n {layout.group} = {show(samples)} samples "
    message += f"for {show(layout.ranks)} data-parallel ranks: a rank gets none, and training stops at its first update"
    smallest = -(-layout.ranks // layout.group)
    yield Problem(_MINI, message, _hint(layout, [{"mini": smallest}]))


@rule(WORKER_RULES, "ARL227", "Weights that can't be handed to the engines", "warning")
def resharding(facts: Facts) -> Iterator[Problem]:
    """After each step the weights go from training's tensor parallelism to the inference engines'.

    MindSpeed-RL can do it where the training size is a multiple of the inference size; or, with a larger inference
    size, where that divides the devices of a pipeline stage. Its check does not look; the workers stop when they start.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    layout = layout_of(facts)
    if not (layout.ranks and layout.engines) or _can_reshard(layout) or layout.devices % layout.inference_tensor:
        return  # ARL270 speaks of devices that are left over
    key = "infer_tensor_parallel_size"
    message = f"{show(layout.inference_tensor)} devices{origin(facts, key)} for an engine do not fit "
    message += f"tensor_model_parallel_size {show(layout.tensor)}{origin(facts, _TENSOR)} in training "
    message += f"on {show(layout.devices)} devices: the weights can't be handed over"
    changes: list[Change] = [{"inference_tensor": size} for size in divisors(layout.devices, layout.inference_tensor)]
    good = nearest(layout, changes, lambda one: accepted(one) and _can_reshard(one))
    yield Problem(key, message, _hint(layout, good or nearest(layout, changes, _can_reshard)))


def _can_reshard(layout: Layout) -> bool:
    if layout.tensor >= layout.inference_tensor:
        return layout.tensor % layout.inference_tensor == 0
    return layout.devices // layout.pipeline % layout.inference_tensor == 0


@rule(WORKER_RULES, "ARL228", "Expert parallelism that the workers refuse", "warning")
def experts(facts: Facts) -> Iterator[Problem]:
    """Keys for experts need a mixture-of-experts model; Megatron stops the workers of any other.

    With such a model, `expert_model_parallel_size` above 1 also needs `moe_tp_extend_ep: true`.
    """
    name = facts["model_name"]
    if facts["train_backend"] != "mindspeed_rl" or name is None:
        return
    off = {_EXPERTS: 1, _EXTEND: False, "mindspeed_rl.gemm_gradient_accumulation_fusion": False}
    for key, nothing in off.items():
        if name not in MIXTURES and facts[key] != nothing:
            message = f"{show(facts[key])}, but {show(name)} has no experts: Megatron stops the workers"
            yield Problem(key, message, f"{key.rpartition('.')[2]}: {show(nothing)}")
    if name in MIXTURES and facts[_EXPERTS] > 1 and not facts[_EXTEND]:
        message = f"{show(facts[_EXPERTS])} needs moe_tp_extend_ep: true; "
        message += "without it the weights can't be handed to the engines"
        yield Problem(_EXPERTS, message, "moe_tp_extend_ep: true")


@rule(WORKER_RULES, "ARL229", "Value that the workers of MindSpeed-RL refuse", "warning")
def worker_values(facts: Facts) -> Iterator[Problem]:
    """MindSpeed-RL's own check lets the value pass, and its workers stop on it.

    `adv_estimator: gae` needs a critic, which its GRPO training does not have. `recompute_granularity` is `full` or
    `selective`, `recompute_method` is `uniform` or `block`, in Megatron's words.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    if facts["mindspeed_rl.adv_estimator"] == "gae" and not facts["test_only"]:
        message = "gae needs a critic, and MindSpeed-RL's GRPO training has none: it stops at the first advantages"
        yield Problem("mindspeed_rl.adv_estimator", message, "adv_estimator: group_norm")
    for key, words in _WORDS.items():
        value = facts[key]
        if value is not None and value not in words:
            near = get_close_matches(value.lower(), words, n=1)
            message = f"{show(value)} is refused by Megatron; it must be {' or '.join(words)}, or null"
            yield Problem(key, message, f"{key.rpartition('.')[2]}: {near[0] if near else words[0]}")


@rule(WORKER_MODEL_RULES, "ARL233", "Pipeline stages that do not divide the layers", "error")
def layers(facts: Facts) -> Iterator[Problem]:
    """Each pipeline stage takes an equal share of the model's layers (`num_hidden_layers` of its `config.json`).

    Megatron refuses anything else, and this format has no list of layers for each stage.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    key = "mindspeed_rl.pipeline_model_parallel_size"
    stages, count = facts[key], facts["@model.num_hidden_layers"]
    if count % stages:
        layout = layout_of(facts)
        changes: list[Change] = [{"pipeline": size} for size in divisors(count, stages)]
        good = nearest(layout, changes, accepted) or nearest(layout, changes, lambda one: True)
        message = f"{show(stages)} stages{origin(facts, key)} can't share the model's {show(count)} layers evenly"
        yield Problem(key, message, _hint(layout, good))


@rule(WORKER_MODEL_RULES, "ARL234", "Training sequences longer than the model's positions", "warning")
def positions(facts: Facts) -> Iterator[Problem]:
    """`seq_len` should not be above the model's own context, `max_position_embeddings` of its `config.json`.

    Megatron stops the workers where it is above the positions that MindSpeed-RL's own file gives the model, which are
    usually the same.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    key = "mindspeed_rl.seq_len"
    length, limit = facts[key], facts["@model.max_position_embeddings"]
    if length > limit:
        message = f"{show(length)} tokens{origin(facts, key)}, but the model's context is {show(limit)} tokens"
        yield Problem(key, message, f"seq_len: {show(limit)}")


@rule(WORKER_MODEL_RULES, "ARL235", "Training devices that do not divide the attention heads", "warning")
def training_heads(facts: Facts) -> Iterator[Problem]:
    """Each device of a tensor-parallel rank takes an equal share of the attention heads, as Megatron demands.

    So `tensor_model_parallel_size` divides the heads (`num_attention_heads` of `config.json`), and divides the heads of
    keys and values or is a multiple of them. MindSpeed-RL's own check does not look; its workers stop when they start.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    size, heads = facts[_TENSOR], facts["@model.num_attention_heads"]
    kv_heads = facts.get("@model.num_key_value_heads") or heads
    if shares(size, heads, kv_heads):
        return
    what = f"{show(heads)} attention heads" if heads % size else f"{show(kv_heads)} heads of keys and values"
    message = f"{show(size)} devices{origin(facts, _TENSOR)} can't share the model's {what} evenly: "
    message += "Megatron stops the workers"
    layout = layout_of(facts)
    changes: list[Change] = [{"tensor": part} for part in divisors(heads, size) if shares(part, heads, kv_heads)]
    good = nearest(layout, changes, accepted) or nearest(layout, changes, lambda one: True)
    yield Problem(_TENSOR, message, _hint(layout, good))
