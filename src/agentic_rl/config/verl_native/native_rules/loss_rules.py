"""Estimators, policy losses and KL divergences (ARL520 to ARL523)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule
from agentic_rl.config.verl_native.native_rules.facts import ACTOR, number
from agentic_rl.config.verl_native.native_rules.naming import offered, unknown_name

LOSS_RULES: list[Rule] = []

_LOSS = f"{ACTOR}.policy_loss"
_POSITIVE = {"clip_cov": ("clip_cov_ratio",), "kl_cov": ("kl_cov_ratio",), "dro": ("dro_beta",)}
"""Loss -> its settings that have to be positive."""


@rule(LOSS_RULES, "ARL520", "Advantage estimator that verl does not have", "error")
def advantage_estimator(facts: Facts) -> Iterator[Problem]:
    """The estimator is looked up when the first advantages are computed, after a whole rollout.

    `get_adv_estimator_fn` in `verl/trainer/ppo/core_algos.py` raises there; nothing before it looks at the name. The
    names are those that the installed verl registers.
    """
    after = "it would stop at the first advantages, after a whole rollout"
    yield from unknown_name(facts, "algorithm.adv_estimator", "adv_estimators", "advantage estimator", after)


@rule(LOSS_RULES, "ARL521", "Policy loss that verl does not have", "error")
def policy_loss(facts: Facts) -> Iterator[Problem]:
    """The policy loss is looked up in the first update.

    `get_policy_loss_fn` in `verl/trainer/ppo/core_algos.py` raises there. The names are those that the installed verl
    registers, written with underscores: `clip_cov`, not `clip-cov`.
    """
    yield from unknown_name(
        facts, f"{_LOSS}.loss_mode", "policy_losses", "policy loss", "it would stop at the first update"
    )


@rule(LOSS_RULES, "ARL522", "Setting that the chosen policy loss refuses", "error")
def loss_settings(facts: Facts) -> Iterator[Problem]:
    """Some policy losses check their own settings, in the first update only.

    In `verl/trainer/ppo/core_algos.py` `compute_policy_loss_vanilla` wants `clip_ratio_c` above 1 (the bound of
    dual-clip PPO for negative advantages), `compute_policy_loss_clip_cov` and `compute_policy_loss_kl_cov` their ratio
    above 0, `compute_policy_loss_dro` a positive `dro_beta`, which is null by default.
    """
    mode = facts[f"{_LOSS}.loss_mode"]
    correction = facts.get("algorithm.rollout_correction.loss_type")
    clips = mode == "vanilla" or (mode == "bypass_mode" and correction != "reinforce")
    bound = facts.get(f"{ACTOR}.clip_ratio_c", 3.0)
    if clips and isinstance(bound, (int, float)) and bound <= 1:
        message = f"{show(bound)}, but the bound of dual-clip PPO must be greater than 1"
        yield Problem(f"{ACTOR}.clip_ratio_c", message, "3.0, verl's default")
    for name in _POSITIVE.get(mode, ()):
        value = facts.get(f"{_LOSS}.{name}")
        if value is None or (isinstance(value, (int, float)) and value <= 0):
            yield Problem(f"{_LOSS}.{name}", f"{show(value)}, but the policy loss {mode} needs it above 0")


@rule(LOSS_RULES, "ARL523", "KL divergence that verl does not compute", "error")
def kl_divergence(facts: Facts) -> Iterator[Problem]:
    """A KL estimator that verl does not implement raises `NotImplementedError`, without a word.

    `full`, which its documentation names, is one of them (`kl_penalty_forward` in `verl/trainer/ppo/core_algos.py`).
    It stops at the first rewards (`algorithm.kl_penalty`) or at the first update (`kl_loss_type`). A `+` at the end
    takes the gradient of `k2`. `get_kl_controller` in the same file knows `fixed` and `adaptive`, with a horizon above
    0.
    """
    if facts.get("algorithm.use_kl_in_reward"):
        yield from _estimator(facts, "algorithm.kl_penalty", "the first rewards")
        kind = facts["algorithm.kl_ctrl.type"]
        if kind not in ("fixed", "adaptive"):
            key = "algorithm.kl_ctrl.type"
            yield Problem(key, f"verl has no KL controller {show(kind)}", "fixed or adaptive")
        elif kind == "adaptive" and number(facts, "algorithm.kl_ctrl.horizon") <= 0:
            horizon = show(facts["algorithm.kl_ctrl.horizon"])
            yield Problem("algorithm.kl_ctrl.horizon", f"{horizon}, but the adaptive controller needs it above 0")
    if facts.get(f"{ACTOR}.use_kl_loss"):
        yield from _estimator(facts, f"{ACTOR}.kl_loss_type", "the first update")


def _estimator(facts: Facts, key: str, when: str) -> Iterator[Problem]:
    value, names = facts[key], facts["@verl.kl_estimators"]
    if not isinstance(value, str) or value.removesuffix("+") not in names:
        message = f"verl does not implement {show(value)}; it would stop at {when}"
        yield Problem(key, message, offered(value, names))
