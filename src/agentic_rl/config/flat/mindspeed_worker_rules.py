"""What MindSpeed-RL's workers refuse on the devices, later than its own check: warnings, but for ARL225."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.backend_rules import MIXTURES
from agentic_rl.config.flat.batches import KEYS, Layout, layout_of, table
from agentic_rl.config.flat.device_rules import shares
from agentic_rl.config.flat.in_force import origin, told
from agentic_rl.config.flat.mindspeed_rules import accepted
from agentic_rl.config.flat.nearest import Change, divisors, nearest, remedy
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

_KNOWN: Mapping[str, tuple[str, int, int]] = {
    "qwen2.5-7b": ("qwen2", 28, 3584),
    "qwen3-0.6b": ("qwen3", 28, 1024),
    "qwen3-4b": ("qwen3", 36, 2560),
    "qwen3-8b": ("qwen3", 36, 4096),
    "qwen3-32b": ("qwen3", 64, 5120),
    "qwen3-30b-a3b": ("qwen3_moe", 48, 2048),
    "qwen3-235b-a22b": ("qwen3_moe", 94, 4096),
}
"""`model_name` -> `model_type`, `num_hidden_layers` and `hidden_size` of the published model's `config.json`."""


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
    message = (
        f"{show(layout.mini)} prompts{origin(facts, _MINI)} x {told(facts, 'rollout_n')} = {show(samples)} samples "
    )
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
    message += f"{told(facts, _TENSOR)} in training "
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


@rule(WORKER_RULES, "ARL237", "Mini batch larger than the batch", "warning")
def mini_batch_above_the_batch(facts: Facts) -> Iterator[Problem]:
    """A mini batch is a part of a step's batch, so `mini_batch_size` should not be above `global_batch_size`.

    Both count prompts. MindSpeed-RL (master, 05a90d7, `base_training_engine.py`) does not look at it: there is one
    optimizer step with the whole batch, and the learning rate's schedule goes on by the written size, so that it ends
    too early. Left at its default, `mini_batch_size` means the whole batch anyway.
    """
    batch = KEYS["mindspeed_rl"]["batch"]
    if facts["train_backend"] == "mindspeed_rl" and facts.wrote(_MINI) and facts[_MINI] > facts[batch]:
        message = f"{show(facts[_MINI])} prompts are more than {told(facts, batch)}: no mini batch gets that large"
        yield Problem(_MINI, message, f"mini_batch_size: {show(facts[batch])}")


@rule(WORKER_RULES, "ARL239", "Evaluation without data", "warning")
def evaluation_data(facts: Facts) -> Iterator[Problem]:
    """`test_only` and `test_before_train` evaluate the model, on MindSpeed-RL with the data of `test_data_path`.

    Without that key there is nothing to evaluate with.
    """
    data = "mindspeed_rl.test_data_path"
    if facts["train_backend"] != "mindspeed_rl" or facts[data] is not None:
        return
    for key in ("test_only", "test_before_train"):
        if facts[key]:
            yield Problem(key, f"true, but {data} is not set: there is nothing to evaluate with", f"set {data}")


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

    Megatron stops the workers (`max_position_embeddings must be greater than or equal to seq_length`) where it is above
    the positions that MindSpeed-RL's own file gives the model: 32768 for `qwen2.5-7b`, 40960 for the models of Qwen3
    (master, 05a90d7, `configs/model`). Beyond its positions a model answers inaccurately in any case.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    key = "mindspeed_rl.seq_len"
    length, limit = facts[key], facts["@model.max_position_embeddings"]
    if length > limit:
        message = f"{show(length)} tokens{origin(facts, key)}, but the model's own context is {show(limit)} tokens "
        message += "(max_position_embeddings): Megatron stops the workers"
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


@rule(WORKER_MODEL_RULES, "ARL236", "Model folder of another architecture", "warning")
def architecture(facts: Facts) -> Iterator[Problem]:
    """`model_name` chooses the architecture that MindSpeed-RL trains; the inference engine reads that of the folder.

    The two are one model, so `config.json` in `tokenizer_name_or_path` must have the `model_type`, layers and hidden
    size of the model that is named. Otherwise the weights can't be handed from training to the engines. The sizes are
    those of the published models, which MindSpeed-RL's own files repeat (master, 05a90d7, `configs/model`).
    """
    key = "model_name"
    known = _KNOWN.get(facts[key])
    if facts["train_backend"] != "mindspeed_rl" or known is None:
        return
    found = (facts["@model.model_type"], facts["@model.num_hidden_layers"], facts["@model.hidden_size"])
    if found == known:
        return
    message = f"{facts[key]} is {_architecture(*known)}, but the model in tokenizer_name_or_path is "
    message += _architecture(*found)
    near = next((name for name, one in _KNOWN.items() if one == found), None)
    other = f"the folder of {facts[key]} as tokenizer_name_or_path"
    yield Problem(key, message, f"model_name: {near}, or {other}" if near else other)


def _architecture(model_type: str, layers: int, hidden: int) -> str:
    return f"{model_type} with {show(layers)} layers of hidden size {show(hidden)}"


@rule(WORKER_MODEL_RULES, "ARL238", "Devices that can't share the experts evenly", "warning")
def expert_share(facts: Facts) -> Iterator[Problem]:
    """The devices of `expert_model_parallel_size` share the model's experts (`num_experts` of its `config.json`).

    Each takes an equal number (Megatron, `arguments.py`); with `moe_tp_extend_ep` the tensor-parallel devices share
    them as well (MindSpeed, `base_moe_init_wrapper`). Either stops the workers otherwise.
    """
    if facts["train_backend"] != "mindspeed_rl":
        return
    size, count = facts[_EXPERTS], facts["@model.num_experts"]
    tensor = facts[_TENSOR] if facts[_EXTEND] else 1
    if not count or count % (size * tensor) == 0:
        return
    share = f" x {told(facts, _TENSOR)} = {show(size * tensor)}" if tensor > 1 else ""
    message = f"{show(size)}{origin(facts, _EXPERTS)}{share} devices can't share the model's {show(count)} experts "
    message += "evenly: Megatron stops the workers"
    fitting = [part for part in divisors(count // tensor, size) if count % (part * tensor) == 0]
    nearby = [*[part for part in fitting if part <= size][-1:], *[part for part in fitting if part > size][:1]]
    hint = f"expert_model_parallel_size: {' or '.join(map(show, nearby))}" if nearby and count >= tensor else ""
    yield Problem(_EXPERTS, message, hint or f"tensor_model_parallel_size that divides {show(count)}")
