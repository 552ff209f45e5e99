"""The jobs of direct mode beside each other (ARL645, ARL646)."""

from __future__ import annotations

from collections.abc import Iterator

from agentic_rl.config.aura.rules.facts import items
from agentic_rl.config.fields.wording import show
from agentic_rl.config.rules import Facts, Problem, Rule, rule

JOBS: list[Rule] = []


@rule(JOBS, "ARL645", "Job that is named twice", "error")
def repeated_jobs(facts: Facts) -> Iterator[Problem]:
    """All entrypoints run at the same time, and two runs of one train instance would write one run folder.

    The second would find the folder taken, and fail.
    """
    if facts["agentic_ai.mode"] == "serve":
        return
    first: dict[str, str] = {}
    for one in items(facts, "direct_conf.entrypoints"):
        name = facts.get(f"{one}.job_name")
        if isinstance(name, str) and first.setdefault(name, one) != one:
            message = f"{show(name)} is run by {first[name]} already, at the same time and in the same folder"
            yield Problem(f"{one}.job_name", message, "remove one of the two, or name another train instance")


@rule(JOBS, "ARL646", "Arguments of a job without effect", "warning")
def job_arguments(facts: Facts) -> Iterator[Problem]:
    """`job_kwargs` may be written, and is documented as an empty mapping: a job has no arguments of its own.

    What it trains with stands in its train instance. A value for one start alone is given on the command line:
    `agentic-rl --config-path FILE verl_conf.trainer.total_epochs=2`.
    """
    if facts["agentic_ai.mode"] == "serve":
        return
    for one in items(facts, "direct_conf.entrypoints"):
        if arguments := facts.get(f"{one}.job_kwargs"):
            message = f"{', '.join(map(str, arguments))}: a job takes no arguments, so that they have no effect"
            yield Problem(f"{one}.job_kwargs", message, "job_kwargs: {}, with the values in the train instance")
