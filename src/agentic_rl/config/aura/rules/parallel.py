"""Devices that share a sample or a layer (ARL275, ARL271)."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from agentic_rl.config.aura.rules.facts import page_of, source, told
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.device_rules import MODEL_DEVICES, shares
from agentic_rl.config.rules import Facts, Problem, Rule, rule
from agentic_rl.config.verl_native.native_rules.facts import ACTOR, REF, ROLLOUT, devices, uses_reference, whole

PARALLEL: list[Rule] = []

_MEGATRON = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
_ULYSSES = "ulysses_sequence_parallel_size"


@rule(PARALLEL, "ARL275", "Devices that do not make whole training ranks", "error")
def whole_ranks(facts: Facts) -> Iterator[Problem]:
    """The devices that share a sample in training divide all devices (`n_gpus_per_node` x `nnodes`).

    They are `tensor_model_parallel_size` x `pipeline_model_parallel_size` x `context_parallel_size` of Megatron, for
    the policy and the reference model each, and `ulysses_sequence_parallel_size` of FSDP.
    """
    world = devices(facts)
    for keys in _shared(facts):
        sizes = {key: whole(facts, key) for key in keys if facts.get(key) is not None}
        count = prod(sizes.values())
        if not sizes or world % max(1, count) == 0:
            continue
        shown = " x ".join(told(facts, key) for key, size in sizes.items() if size > 1)
        message = f"{shown} = {show(count)} devices" if len(sizes) > 1 else f"{show(count)} devices"
        key = max(sizes, key=lambda one: (facts.wrote(one), sizes[one]))
        message += f" of one training rank do not divide the {show(world)} devices of the run"
        yield Problem(key, message, f"a divisor of {show(world)}")


def _shared(facts: Facts) -> Iterator[list[str]]:
    """For each model that is loaded for training, the keys whose product is the devices of one rank."""
    strategy = facts[f"{ACTOR}.strategy"]
    for node in (ACTOR, *([REF] if uses_reference(facts) else [])):
        if strategy == "megatron":
            yield [f"{node}.megatron.{name}" for name in _MEGATRON]
        elif strategy in ("fsdp", "fsdp2"):
            yield [f"{node}.{_ULYSSES}"]


def _heads(facts: Facts) -> Iterator[Problem]:
    heads = facts["@model.num_attention_heads"]
    kv_heads = facts.get("@model.num_key_value_heads") or heads
    training = f"{ACTOR}.megatron.tensor_model_parallel_size"
    if facts[f"{ACTOR}.strategy"] in ("fsdp", "fsdp2"):
        training = f"{ACTOR}.{_ULYSSES}"
    for key in (f"{ROLLOUT}.tensor_model_parallel_size", training):
        size = facts.get(key)
        if not isinstance(size, int) or size < 1 or shares(size, heads, kv_heads):
            continue
        what = f"{show(heads)} attention heads" if heads % size else f"{show(kv_heads)} heads of keys and values"
        message = f"{show(size)}{source(facts, key)} devices can't share the model's {what} evenly"
        usable = [one for one in range(1, min(heads, 64) + 1) if shares(one, heads, kv_heads)]
        yield Problem(key, message, f"{key.rpartition('.')[2]}: {', '.join(map(show, usable))}")


PARALLEL.append(Rule(page_of(MODEL_DEVICES, "ARL271"), _heads))
