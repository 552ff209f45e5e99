"""Native configurations of verl for tests: composed from the installed verl, with changes by dotted key."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

from agentic_rl.backends.verl.composition import TEMPLATE, compose
from agentic_rl.config.verl_native.installation import Installation, installed
from agentic_rl.config.verl_native.native_rules import native_facts, native_problems

ACTOR, ROLLOUT, REF, MODEL = (f"actor_rollout_ref.{name}" for name in ("actor", "rollout", "ref", "model"))
SOUND: dict[str, Any] = {
    "algorithm.adv_estimator": "grpo",
    "data.train_batch_size": 32,
    f"{ROLLOUT}.name": "vllm",
    f"{ROLLOUT}.n": 4,
    f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu": 4,
    f"{REF}.log_prob_micro_batch_size_per_gpu": 4,
    f"{ACTOR}.ppo_mini_batch_size": 16,
    f"{ACTOR}.ppo_micro_batch_size_per_gpu": 4,
    f"{MODEL}.override_config.attn_implementation": "sdpa",
}
"""What makes a sound configuration for 8 devices of verl's defaults; the data files are added by `native`."""
FACTS = {"@model.max_position_embeddings": 32768, "@train.rows": 1000}


def native(changes: dict[str, Any], data: str, template: str = TEMPLATE) -> dict[str, Any]:
    """`SOUND` with changes and the data file `data`, resolved as verl's workers see it."""
    from omegaconf import OmegaConf

    config = copy.deepcopy(_composed(template))
    files = {"data.train_files": data, "data.val_files": data}
    for key, value in {**SOUND, **files, **changes}.items():
        OmegaConf.update(config, key, value, force_add=True)
    resolved: dict[str, Any] = OmegaConf.to_container(config, resolve=True)
    return resolved


def broken(changes: dict[str, Any], data: str, template: str = TEMPLATE, **there: Any) -> list[tuple[str, ...]]:
    """Severity with code, key, message and remedy of every rule that the configuration breaks.

    `there` changes what is installed.
    """
    from omegaconf import OmegaConf

    installation = Installation(
        **{"verl": "0.9.1", "flash_attn": False, "vllm": "0.24.0", "config_dir": installed().config_dir, **there}
    )
    defaults = OmegaConf.to_container(_composed(template))
    facts = native_facts(native(changes, data, template), installation, template=defaults, facts=FACTS)
    return [
        (f"{one.severity or rule.page.severity} {rule.page.code}", one.key, one.message, one.hint)
        for rule, one in native_problems(facts)
    ]


@cache
def _composed(template: str) -> Any:
    return compose(template)
