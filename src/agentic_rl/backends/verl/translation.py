"""From verl's keys back to ours, and from verl's words to its keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from agentic_rl.backends.verl.mapping import TABLE
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.verl_native.native_rules.facts import ACTOR, REF, flattened

if TYPE_CHECKING:
    from agentic_rl.backends.verl.native_check import NativeFinding

WHOLE = "train_backend"
"""Where findings stand that are about no key of ours."""
DRIVER = "driver"
"""The step of verl's own checks that is about the whole configuration."""
_SHORTEST = 4
_ACTORS = f"{ACTOR}.ppo_micro_batch_size_per_gpu"
_LOG_PROBS = f"{REF}.log_prob_micro_batch_size_per_gpu"
"""The reference model's worker gives its key the name that the actor's has."""
_KEYS = (
    (r"\[actor\]", _ACTORS),
    (r"\[critic\] ppo_", "critic.ppo_micro_batch_size"),
    (r"\[critic\]", "critic.ppo_micro_batch_size_per_gpu"),
    (r"\[(actor_rollout_ref\.\w+)\]", r"\1.log_prob_micro_batch_size_per_gpu"),
    (r"real_train_batch_size", "data.train_batch_size"),
    (r"model_parallel_size .* times context_parallel_size", "trainer.n_gpus_per_node"),
    (r"sequence parallelism", "actor_rollout_ref.actor.ulysses_sequence_parallel_size"),
    (r"validation gen temperature", "actor_rollout_ref.rollout.temperature"),
    (r"FlashAttention2", "actor_rollout_ref.model.override_config.attn_implementation"),
    (r"Rollout mode", "actor_rollout_ref.rollout.mode"),
    (r"(?i)only one architecture", "actor_rollout_ref.model.path"),
    (r"router_replay", "actor_rollout_ref.actor.megatron.router_replay.mode"),
    (r"Unknown reward manager:", "reward.reward_manager.name"),
    (r"Only vanilla policy loss", "distillation.distillation_loss.policy_loss_mode"),
    (r"lora_rank", "actor_rollout_ref.model.lora_rank"),
)
"""Words of verl that name no key -> the key that they are about."""


def translate(native_key: str) -> str | None:
    """Our dotted key that sets one of verl's; None where the adapter decides, or nobody.

    A key that takes its value from one of ours inside verl's configuration counts, and so does a list item.
    """
    return _ours().get(native_key.partition("[")[0])


def flat_finding(one: NativeFinding) -> Finding:
    """The finding under our key, without a place; the message names verl's, where it is not the same word."""
    key = translate(one.key) if one.key else None
    name = (key or one.key or WHOLE).rpartition(".")[2]
    told = (
        f"{one.message} ({one.key})" if one.key and (key is None or one.key.rpartition(".")[2] != name) else one.message
    )
    hint = one.hint if not one.key or ":" in one.hint or one.is_prose else f"{name}: {one.hint}"
    return Finding(one.code, one.severity, key or WHOLE, told, hint)


def key_of(step: str, words: str, native: Mapping[str, Any]) -> str:
    """Find verl's key that a refusal is about.

    Args:
        step: the node that verl built, or `driver`.
        words: the message and the line of source.
        native: the configuration.
    """
    leaves = [(key, value) for key, value in flattened(native) if not isinstance(value, Mapping) and _is_of(key, step)]
    unexpected = re.search(r"unexpected keyword argument '(\w+)'", words)
    if unexpected:
        return next((key for key, _ in leaves if key.endswith(f".{unexpected[1]}")), step if step != DRIVER else "")
    quoted = [key for key, value in leaves if isinstance(value, str) and "/" in value and f"'{value}'" in words]
    if quoted:
        return min(quoted, key=lambda key: (not key.endswith("path"), key))
    for pattern, key in _KEYS:
        found = re.search(pattern, words)
        if found:
            return _LOG_PROBS if step == REF and key == _ACTORS else found.expand(key)
    said = {key for key, value in leaves if isinstance(value, str) and value in words.split()}
    candidates = [
        (_is_common(key) and depth == 1, place, -depth, key not in said, not key.startswith(ACTOR), key.count("."), key)
        for place, depth, key in _named([key for key, _ in leaves], words)
    ]
    return min(candidates)[-1] if candidates else ("" if step == DRIVER else step)


def _is_of(key: str, step: str) -> bool:
    return step == DRIVER or key.startswith(f"{step}.")


def _is_common(key: str) -> bool:
    """Whether the last part of a key is one word, which messages use in other senses as well."""
    return "_" not in key.rpartition(".")[2]


def _named(keys: Iterable[str], words: str) -> Iterator[tuple[int, int, str]]:
    """Place in the words, how much of the key stands there, and key, for every key that they name."""
    for key in keys:
        parts = key.split(".")
        if len(parts[-1]) < _SHORTEST:
            continue
        for depth in range(len(parts), 0, -1):
            found = re.search(rf"(?<![\w]){re.escape('.'.join(parts[-depth:]))}(?!\w)", words)
            if found:
                # The end of the name is its place: a longer one that ends there is the same mention.
                yield found.end(), depth, key
                break


@cache
def _ours() -> dict[str, str]:
    ours: dict[str, str] = {}
    for entry in TABLE:
        for native in entry.natives:
            for key in (native.key, *native.through):
                ours.setdefault(key, entry.key)
    return ours
