"""Keys that act only together with another one, and values that are surely not meant (ARL21x)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.in_force import key_of, source, trains
from agentic_rl.config.rules import Facts, Problem, Rule, rule

CONDITIONS: list[Rule] = []


@dataclass(frozen=True)
class Condition:
    """Keys that have an effect only while another key has a certain value."""

    keys: tuple[str, ...]
    needs: str
    value: Any
    """The value of `needs`, or a tuple of such values; `...` stands for any value but null."""
    backends: tuple[str, ...] = ("verl", "local")
    same: tuple[Any, ...] = ()
    """Values that mean what holds without the keys."""
    can_be_met: bool = True
    """Whether the backend runs with the value of `needs` at all."""

    @property
    def remedy(self) -> str:
        """What to write so that the keys act."""
        first = self.value[0] if isinstance(self.value, tuple) else self.value
        return f"set {self.needs}" if first is ... else f"{self.needs}: {show(first).strip(chr(39))}"

    def holds(self, value: Any) -> bool:
        """Whether the keys act while `needs` has this value."""
        if isinstance(self.value, tuple):
            return value in self.value
        return value is not None if self.value is ... else bool(value == self.value)


ONLY_WITH = (
    Condition(("min_lr_ratio", "num_cycles"), "warmup_style", "cosine"),
    Condition(
        ("policy_loss_clip_cov_ratio", "policy_loss_clip_cov_lb", "policy_loss_clip_cov_ub"),
        "policy_loss_model",
        "clip-cov",
    ),
    Condition(("policy_loss_kl_cov_ratio", "policy_loss_ppo_kl_coef"), "policy_loss_model", "kl-cov"),
    Condition(("clip_ratio",), "policy_loss_model", ("vanilla", "clip-cov")),
    Condition(("kl_loss_coeff", "kl_loss_type"), "use_kl_loss", True),
    Condition(("kl_penalty", "kl_coef", "kl_ctrl_type"), "use_kl_in_reward", True),
    Condition(("kl_horizon", "kl_target"), "kl_ctrl_type", "adaptive", ("verl", "mindspeed_rl", "local")),
    Condition(("gamma", "lam"), "adv_estimator", "gae", ("verl",)),
    # ARL229: its training has no critic, so that gae is no remedy.
    Condition(("gamma", "lam"), "adv_estimator", "gae", ("mindspeed_rl",), (1.0,), can_be_met=False),
    Condition(("recompute_method", "recompute_num_layers"), "recompute_granularity", ..., ("mindspeed_rl",)),
    Condition(("sft_steps", "sft_batch_size", "sft_lr", "sft_context_weight"), "sft_files", ..., ("local",)),
)


@rule(CONDITIONS, "ARL211", "Key that acts only with another", "warning")
def only_with(facts: Facts) -> Iterator[Problem]:
    """The key is written, but the key that it depends on has a value with which it does nothing.

    Set the other key as the hint says, or remove this one.
    """
    backend = facts["train_backend"]
    for condition in ONLY_WITH:
        needs = key_of(facts, condition.needs)
        if backend not in condition.backends or condition.holds(facts.get(needs, condition.value)):
            continue
        for name in condition.keys:
            key = key_of(facts, name)
            if facts.wrote(key) and facts.get(key) not in (None, *condition.same):
                message = (
                    f"{show(facts[key])} has no effect while {needs} is {show(facts[needs])}{source(facts, needs)}"
                )
                remedy = f"{condition.remedy}; or remove {name}" if condition.can_be_met else f"remove {name}"
                yield Problem(key, message, remedy)


@rule(CONDITIONS, "ARL212", "Entropy bonus left at its default", "warning")
def entropy_default(facts: Facts) -> Iterator[Problem]:
    """The documented default of `entropy_coeff` is 0.2, two hundred times the 0.001 that the released code uses.

    So strong a bonus drives the policy towards uniform noise. Write the value that you mean; 0 turns it off.
    """
    if trains(facts) and not facts.wrote("entropy_coeff"):
        message = f"not written, so the documented default {show(facts['entropy_coeff'])} holds; 0.001 is usual"
        yield Problem("entropy_coeff", message, "entropy_coeff: 0.001")


_ALONE = {
    "mindspeed_rl": "its deviation is that of one value, so every advantage is NaN",
    "verl": "its advantage is the raw reward, without a baseline",
    "local": "its advantage is the raw reward, without a baseline",
}


@rule(CONDITIONS, "ARL213", "Group of one", "warning")
def group_of_one(facts: Facts) -> Iterator[Problem]:
    """Group estimators compare the `rollout_n` trajectories of a prompt with each other; one has no other.

    Sample at least 2, better 8, or use `adv_estimator: gae`, which needs no group.
    """
    backend = facts["train_backend"]
    if facts["rollout_n"] == 1 and facts[key_of(facts, "adv_estimator")] != "gae" and trains(facts):
        message = f"1 trajectory has no group to be compared with: {_ALONE[backend]}; at least 2 are needed"
        yield Problem("rollout_n", message, "rollout_n: 8")


@rule(CONDITIONS, "ARL214", "Value that the local backend lacks", "warning")
def not_in_local(facts: Facts) -> Iterator[Problem]:
    """The embedded backend has no critic, so `adv_estimator: gae` trains with `grpo`."""
    if facts["train_backend"] == "local" and facts["local.adv_estimator"] == "gae":
        message = "gae needs a critic, which local lacks in this version: grpo is used"
        yield Problem("local.adv_estimator", message, "adv_estimator: grpo")
