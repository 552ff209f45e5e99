"""Samples of a group that can't differ (ARL250)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.in_force import key_of, told, trains
from agentic_rl.config.rules import Facts, Problem, Rule, rule

GROUPS: list[Rule] = []

COLDEST, NARROWEST_TOP_P, WIDEST_MIN_P = 0.1, 0.1, 0.9
"""At a temperature of 0.1 a token half as likely as the likeliest is drawn once in a thousand times."""


@rule(GROUPS, "ARL250", "Samples of a group are all equal", "warning")
def equal_samples(facts: Facts) -> Iterator[Problem]:
    """Group estimators learn from the differences between the `rollout_n` samples of a prompt.

    `top_k: 1` always takes the likeliest token; a temperature near 0, a tiny `top_p` or a `min_p` near 1 nearly always
    do. Equal samples have equal rewards, every advantage is 0, and nothing is learned. Sample with a temperature near
    1 and wide limits; the evaluation of `local` takes the likeliest tokens by itself.
    """
    estimator = facts[key_of(facts, "adv_estimator")]
    if estimator == "gae" or facts["rollout_n"] == 1 or not trains(facts):
        return
    for key, remedy, often in _narrow(facts):
        alike = "equal" if often == "always" else "nearly equal"
        message = f"{show(facts[key])} {often} takes the likeliest token: the samples of a prompt "
        message += f"({told(facts, 'rollout_n')}) are {alike}, their advantages 0, and nothing is learned"
        yield Problem(key, message, remedy)


def _narrow(facts: Facts) -> Iterator[tuple[str, str, str]]:
    """Key, remedy, and how often the likeliest token is taken, for each setting that leaves hardly a choice."""
    if facts["top_k"] == 1:
        yield "top_k", "top_k: -1", "always"
    if facts["temperature"] <= COLDEST:
        # vLLM and our own engine take anything below 1e-5 for greedy.
        yield "temperature", "temperature: 1.0", "always" if facts["temperature"] < 1e-5 else "nearly always"
    if facts["top_p"] <= NARROWEST_TOP_P:
        yield "top_p", "top_p: 1.0", "nearly always"
    if facts["min_p"] >= WIDEST_MIN_P:
        yield "min_p", "min_p: 0.01", "always" if facts["min_p"] == 1 else "nearly always"
