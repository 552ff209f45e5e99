"""verl with FSDP: float32 shards, bfloat16 computation, activations computed again, an engine that sleeps in between.

After verl 0.9.1 and its defaults for what the flat format has no key for. Computed, not measured: no cluster was at
hand.

The actor is built first, then the engine starts, takes its share and sleeps. In a rollout it holds that share again,
beside the actor's weights and, from the second step on, AdamW's moments, unless they are offloaded. The reference
model's weights always wait in the host's memory.
"""

from __future__ import annotations

from math import ceil

from agentic_rl.config.memory.engine import engine_items
from agentic_rl.config.memory.estimate import Item, Phase
from agentic_rl.config.memory.model import ModelSizes
from agentic_rl.config.memory.settings import Settings, per_device
from agentic_rl.config.memory.sizes import show_count

_LOGITS, _ENTROPY = 4, 2
"""Bytes a logit at the peak of an update: bfloat16 logits beside their gradient, and with an entropy bonus one more
gradient. Measured on one GPU, of a head with a fused cross-entropy alone: 2.1 to 4.1, with the compiled entropy 4.1 to
6.1, in chunks (`entropy_from_logits_with_chunking`) or not, as the compiler keeps no softmax; 2 more without the fused
cross-entropy of flash-attention."""


def items(settings: Settings, model: ModelSizes, device_memory: int | None) -> list[Item]:
    """What one device holds while training with `verl`."""
    devices = int(settings["num_gpus_per_node"]) * int(settings.own("nnodes"))
    return [
        *_states(settings, model, devices),
        *_update(settings, model, devices),
        *engine_items(settings, model, devices, device_memory),
    ]


def _states(settings: Settings, model: ModelSizes, devices: int) -> list[Item]:
    count, among = show_count(model.parameters), f"/ {devices} devices"
    weights = Item(
        "weights",
        _phase(settings, "fsdp_param_offload"),
        per_device(4 * model.parameters, devices),
        f"{count} parameters x 4 bytes (float32 shards) {among}",
    )
    optimizer = Item(
        "optimizer",
        _phase(settings, "fsdp_optimizer_offload"),
        per_device(8 * model.parameters, devices),
        f"{count} parameters x 8 bytes (AdamW's moments) {among}",
    )
    gradients = Item(
        "gradients", "update", per_device(4 * model.parameters, devices), f"{count} parameters x 4 bytes {among}"
    )
    states = [weights, optimizer, gradients]
    if settings.own("adv_estimator") == "gae":
        formula = f"{count} parameters x 12 bytes (weights and optimizer; gae needs a critic) {among}"
        states.append(Item("critic", "always", per_device(12 * model.parameters, devices), formula))
    return states


def _phase(settings: Settings, offload: str) -> Phase:
    return "update" if settings.own(offload) else "always"


def _update(settings: Settings, model: ModelSizes, devices: int) -> list[Item]:
    samples = ceil(settings.mini_batch * int(settings["rollout_n"]) / devices)
    longest = settings.longest_sample
    tokens = min(max(int(settings.own("ppo_max_token_len_per_gpu")), longest), samples * longest)
    layer = model.in_layers // model.layers
    gathered = 2 * (2 * layer + 2 * model.embedding)
    kept = tokens * model.layers * 2 * model.hidden
    again = tokens * 2 * (model.replicated_activations * 2 + model.split_activations)
    copies = _LOGITS + (_ENTROPY if settings["entropy_coeff"] else 0)
    return [
        Item(
            "gathered weights",
            "update",
            gathered,
            f"2 layers of {show_count(layer)} parameters, embedding and head, x 2 bytes (bfloat16)",
        ),
        Item(
            "activations",
            "update",
            kept + again,
            f"{tokens} tokens of a micro batch x 2 bytes: hidden size {model.hidden} x {model.layers} layers kept, "
            "one layer computed again (gradient checkpointing)",
        ),
        Item(
            "logits and their gradients",
            "update",
            tokens * model.vocabulary * copies,
            f"{tokens} tokens x vocabulary {model.vocabulary} x {copies} bytes",
        ),
    ]
