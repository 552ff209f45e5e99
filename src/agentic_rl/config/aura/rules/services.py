"""Instances, the names by which they refer to each other, and the jobs that run them (ARL282 to ARL286)."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from agentic_rl.config.aura.rules.facts import ENGINE, SAMPLING, items, named, native_nodes
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule

SERVICES: list[Rule] = []

SECTIONS = ("train_instances", "agent_instances", "infer_instances")
_ENGINES = {"verl_train": "verl", "msrl_train": "mindspeed_rl"}


@rule(SERVICES, "ARL282", "Two instances of one name", "error")
def unique_names(facts: Facts) -> Iterator[Problem]:
    """The name of an instance is how others refer to it, so in each list every name stands once."""
    for section in SECTIONS:
        seen: dict[str, str] = {}
        for one in items(facts, section):
            name = facts.get(f"{one}.name")
            if name in seen:
                message = f"{show(name)} is the name of {seen[name]} already; names are unique"
                yield Problem(f"{one}.name", message, "another name")
            elif isinstance(name, str):
                seen[name] = one


@rule(SERVICES, "ARL283", "Service that is not there", "error")
def services(facts: Facts) -> Iterator[Problem]:
    """`agent_service` names an agent instance, `infer_service` and `infer_service_params.model` an inference instance.

    A reference such as `${agent_instances.0.name}` keeps them equal.
    """
    nodes = [f"{one}.executor_kwargs" for one in items(facts, "train_instances")]
    for node in [*nodes, *(f"{one}.extras" for one in native_nodes(facts))]:
        yield from _resolved(facts, f"{node}.agent_service", "agent_instances")
        yield from _resolved(facts, f"{node}.infer_service", "infer_instances")
    for one in items(facts, "agent_instances"):
        key = f"{one}.{SAMPLING}.model"
        served = [facts.get(f"{infer}.{ENGINE}.model_name") for infer in items(facts, "infer_instances")]
        if facts.get(key) not in served:
            yield from _resolved(facts, key, "infer_instances")


def _resolved(facts: Facts, key: str, section: str) -> Iterator[Problem]:
    name = facts.get(key)
    if name in (None, "") or named(facts, section, name):
        return
    names = [str(facts.get(f"{one}.name")) for one in items(facts, section)]
    near = get_close_matches(str(name), names, 1, 0.6) or names[:1]
    there = f"it has {', '.join(map(show, names))}" if names else "there is none"
    hint = f"{near[0]}, or ${{{section}.{names.index(near[0])}.name}}" if near else f"add it to {section}"
    yield Problem(key, f"{show(name)} is no name in {section}; {there}", hint)


@rule(SERVICES, "ARL284", "Job that names no train instance", "error")
def jobs(facts: Facts) -> Iterator[Problem]:
    """In direct mode each entrypoint runs the train instance that its `job_name` names."""
    if facts["agentic_ai.mode"] == "serve":
        return
    entrypoints = list(items(facts, "direct_conf.entrypoints"))
    if not entrypoints:
        message = f"no job, but agentic_ai.mode is {facts['agentic_ai.mode']}: nothing would run"
        hint = "- job_type: train\n  job_name: ${train_instances.0.name}"
        yield Problem("direct_conf.entrypoints", message, hint, "warning")
    for one in entrypoints:
        name = facts.get(f"{one}.job_name")
        if name == "":
            hint = "${train_instances.0.name}"
            yield Problem(f"{one}.job_name", "empty, but the job runs the train instance of this name", hint)
        yield from _resolved(facts, f"{one}.job_name", "train_instances")


@rule(SERVICES, "ARL285", "Job of another engine", "error")
def job_types(facts: Facts) -> Iterator[Problem]:
    """`job_type: verl_train` runs train instances of verl, `msrl_train` those of mindspeed_rl; `train` runs both."""
    if facts["agentic_ai.mode"] == "serve":
        return
    for one in items(facts, "direct_conf.entrypoints"):
        wanted = _ENGINES.get(str(facts.get(f"{one}.job_type")))
        instance = named(facts, "train_instances", facts.get(f"{one}.job_name"))
        engine = facts.get(f"{instance}.executor_kwargs.train_engine") if instance else None
        if wanted and engine and engine != wanted:
            message = f"{facts[f'{one}.job_type']} runs {wanted}, but the train_engine of {instance} is {engine}"
            fitting = next(job for job, other in _ENGINES.items() if other == engine)
            yield Problem(f"{one}.job_type", message, f"job_type: {fitting}, or train")
