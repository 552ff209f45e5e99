"""A native configuration as facts for rules: every value under its dotted key, every node too.

What rules need besides stands under keys that begin with `@`: those of the files (`@model.*`, `@train.rows`), and

- `@verl.FAMILY`: the names that the installed verl registers, by the families of `registered_names.py`;
- `@verl.vllm`: the version of vLLM, `@verl.flash_attn`: whether flash-attention is installed;
- `@verl.modules`: modules of the user's own, that verl imports in every process;
- `@verl.weight_packages`: those of `WEIGHT_PACKAGES` that are installed;
- `@template`: the values of the composed template by dotted key, references to other keys as they are written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentic_rl.config.rules import Facts, MissingFactError
from agentic_rl.config.verl_native.installation import Installation
from agentic_rl.config.verl_native.registered_names import registered_names

ACTOR = "actor_rollout_ref.actor"
ROLLOUT = "actor_rollout_ref.rollout"
REF = "actor_rollout_ref.ref"
MODEL = "actor_rollout_ref.model"


def native_facts(
    native: Mapping[str, Any],
    installation: Installation,
    *,
    template: Mapping[str, Any] | None = None,
    facts: Mapping[str, Any] | None = None,
) -> Facts:
    """The facts of a resolved native configuration; `facts` are those of its files."""
    values = {**dict(flattened(native)), **installed_facts(installation)}
    if installation.weight_packages is not None:
        values["@verl.weight_packages"] = installation.weight_packages
    if template is not None:
        values["@template"] = dict(flattened(template))
    return Facts({**values, **(facts or {})}, ())


def installed_facts(installation: Installation) -> dict[str, Any]:
    """What the installed verl registers, and what is beside it; without verl, the names of the version known here."""
    folder = installation.config_dir.parents[1] if installation.config_dir else None
    facts: dict[str, Any] = {f"@verl.{family}": names for family, names in registered_names(folder).items()}
    if installation.verl:
        facts |= {"@verl.vllm": installation.vllm, "@verl.flash_attn": installation.flash_attn}
    return facts | {"@verl.modules": installation.modules}


def flattened(node: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value and node below `node`, by its dotted key."""
    for key, value in node.items():
        yield f"{prefix}{key}", value
        if isinstance(value, Mapping):
            yield from flattened(value, f"{prefix}{key}.")


def whole(facts: Facts, key: str) -> int:
    """A whole number.

    Raises:
        MissingFactError: there is something else; another rule speaks of that.
    """
    value = facts[key]
    if isinstance(value, bool) or not isinstance(value, int):
        raise MissingFactError(key)
    return value


def number(facts: Facts, key: str) -> float:
    """A number.

    Raises:
        MissingFactError: there is something else; another rule speaks of that.
    """
    value = facts[key]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MissingFactError(key)
    return value


def devices(facts: Facts) -> int:
    """Devices of the trainer: verl's world size."""
    return whole(facts, "trainer.n_gpus_per_node") * whole(facts, "trainer.nnodes")


def data_parallel_size(facts: Facts) -> int:
    """Ranks that take different samples (`get_data_parallel_size` of the engines in workers/engine).

    Raises:
        MissingFactError: an engine whose layout is not known here.
    """
    strategy = facts[f"{ACTOR}.strategy"]
    if strategy == "megatron":
        if facts.get(f"{ACTOR}.megatron.dynamic_context_parallel"):
            return 1
        sizes = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
        shared = 1
        for size in sizes:
            shared *= whole(facts, f"{ACTOR}.megatron.{size}")
    elif strategy in ("fsdp", "fsdp2"):
        own = whole(facts, f"{ACTOR}.ulysses_sequence_parallel_size")
        shared = own if own > 1 else whole(facts, f"{ACTOR}.fsdp_config.ulysses_sequence_parallel_size")
    else:
        raise MissingFactError(f"{ACTOR}.strategy")
    return max(1, devices(facts) // max(1, shared))


def uses_reference(facts: Facts) -> bool:
    """Whether a reference model is loaded (`need_reference_policy` in trainer/ppo/utils.py)."""
    return bool(facts.get("algorithm.use_kl_in_reward") or facts.get(f"{ACTOR}.use_kl_loss"))


def uses_critic(facts: Facts) -> bool:
    """Whether a critic is trained (`need_critic` in trainer/ppo/utils.py)."""
    enabled = facts.get("critic.enable")
    return facts.get("algorithm.adv_estimator") == "gae" if enabled is None else bool(enabled)


def mini_batch(facts: Facts) -> int:
    """Samples of one mini batch over all ranks (`_update_actor` in trainer/ppo/v1/trainer_base.py)."""
    return whole(facts, f"{ACTOR}.ppo_mini_batch_size") * whole(facts, f"{ROLLOUT}.n")
