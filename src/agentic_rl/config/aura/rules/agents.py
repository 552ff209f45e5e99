"""Agents and the models that they ask (ARL218, ARL298, ARL299)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import PurePath

from agentic_rl.config.agent_names import is_known_agent, known_agents
from agentic_rl.config.aura.rules.facts import AGENT_LIMITS, ENGINE, items, source, trainings
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule

AGENTS: list[Rule] = []
FILE = "agent_engine_wrapper_path"
"""The flat format's key for an agent's own file, which agent instances may have as well."""

_SIZE = re.compile(r"(?<![a-z0-9.])(\d+(?:\.\d+)?)([bm])(?![a-z0-9])")
_FAMILY = re.compile(r"(qwen|llama|glm|gemma|mistral|phi|deepseek|internlm|yi|baichuan)[-_ ]?v?(\d+(?:\.\d+)?)?")
_PATH = "actor_rollout_ref.model.path"


@rule(AGENTS, "ARL218", "Agent that is not known here", "warning")
def known_agent(facts: Facts) -> Iterator[Problem]:
    """`agent_name` is a built-in agent, one that is registered, or ours: a place such as `package.module:Class`.

    An agent may be registered on the machine that trains alone, so it is a warning; there it is an error.
    """
    for one in items(facts, "agent_instances"):
        key = f"{one}.{AGENT_LIMITS}.agent_name"
        name = facts.get(key)
        if not isinstance(name, str) or is_known_agent(name) or facts.get(f"{one}.{AGENT_LIMITS}.{FILE}"):
            continue
        known = known_agents()
        near = get_close_matches(name, known, 1, 0.6)
        hint = f"agent_name: {near[0]}" if near else f"one of {', '.join(known)}; or install the package that has it"
        yield Problem(key, f"{show(name)} is neither built in nor registered here", hint)


@rule(AGENTS, "ARL299", "Thoughts left out of what the policy reads", "warning")
def thoughts(facts: Facts) -> Iterator[Problem]:
    """With `simplify_think_content` the next prompt is no continuation of the tokens that were sampled.

    Every turn becomes a sample of its own, and training on the whole trajectory sees other tokens than the rollout.
    With `token_in_token_out` the two contradict each other. With one turn there is no next prompt.
    """
    for one in items(facts, "agent_instances"):
        limits = f"{one}.{AGENT_LIMITS}"
        key = f"{limits}.simplify_think_content"
        if facts.get(key) is not True or _turns(facts, limits) == 1:
            continue
        message = "true: earlier thoughts are cut, so that training sees other tokens than the rollout"
        if facts.get(f"{limits}.token_in_token_out") is True:
            message += ", against token_in_token_out"
        yield Problem(key, message, "simplify_think_content: false")


def _turns(facts: Facts, limits: str) -> object:
    released = facts.get(f"{limits}.env_args.max_steps")
    return facts.get(f"{limits}.max_steps") if released is None else released


@rule(AGENTS, "ARL298", "Name of another model", "warning")
def model_name(facts: Facts) -> Iterator[Problem]:
    """`model_name` is the name under which the server offers the policy; requests with another name are refused.

    It is compared with the policy's folder by family and size, as far as both names tell them.
    """
    for one in trainings(facts):
        key = f"{one.infer}.{ENGINE}.model_name"
        path = f"{one.native}.{_PATH}" if one.native else "msrl_conf.megatron_training.tokenizer_name_or_path"
        name, folder = facts.get(key), facts.get(path)
        if one.infer and isinstance(name, str) and isinstance(folder, str) and _differ(name, PurePath(folder).name):
            message = f"{show(name)}, but the policy is {show(PurePath(folder).name)}{source(facts, path)}: requests "
            message += "would name a model that the server does not offer"
            yield Problem(key, message, f"model_name: {PurePath(folder).name}")


def _differ(name: str, other: str) -> bool:
    """Whether two names tell different families or different sizes of models."""
    for of in (_family, _size):
        one, two = of(name.lower()), of(other.lower())
        if one and two and one != two:
            return True
    return False


def _size(name: str) -> str:
    found = _SIZE.search(name.replace("_", "-"))
    return f"{float(found[1]):g}{found[2]}" if found else ""


def _family(name: str) -> str:
    found = _FAMILY.search(name)
    return f"{found[1]} {found[2]}" if found and found[2] else ""
