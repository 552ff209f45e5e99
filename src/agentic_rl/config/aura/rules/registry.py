"""Which rules of the instances format are run on what, and how severe a relation is that nobody wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agentic_rl.config.aura.places import ComposedTree, upwards
from agentic_rl.config.aura.rules.agents import AGENTS
from agentic_rl.config.aura.rules.facts import WatchedFacts, native_nodes
from agentic_rl.config.aura.rules.flat_names import ADAPTED
from agentic_rl.config.aura.rules.jobs import JOBS
from agentic_rl.config.aura.rules.lengths import LENGTHS, VERL_LENGTHS
from agentic_rl.config.aura.rules.machine import MACHINE, STATE
from agentic_rl.config.aura.rules.modes import MODES, apart
from agentic_rl.config.aura.rules.needs import NEEDS
from agentic_rl.config.aura.rules.options import OPTIONS
from agentic_rl.config.aura.rules.parallel import PARALLEL
from agentic_rl.config.aura.rules.services import SERVICES
from agentic_rl.config.aura.rules.training import TRAINING
from agentic_rl.config.rules import MissingFactError, Problem, Rule
from agentic_rl.config.verl_native.installation import installed
from agentic_rl.config.verl_native.native_rules import NATIVE_RULES, installed_facts

FILE_RULES: list[Rule] = [*SERVICES, *JOBS, *NEEDS, *LENGTHS, *AGENTS, *MODES, *OPTIONS, *MACHINE]
"""Rules on the whole file, by its keys."""
_OF_FILES = ("@model", "@train", "@val", "@checkpoint", "@machine")
_SHARED_DEVICES = frozenset({"ARL528", "ARL231"})
"""Rules that hold only where training and inference share devices; ARL273 is in the place of ARL231 elsewhere."""
_ELSEWHERE = frozenset({"ARL531", "ARL546"})
"""Native rules whose matter has rules of its own here: ARL287, and the files."""
VERL_RULES: list[Rule] = [
    *VERL_LENGTHS,
    *TRAINING,
    *PARALLEL,
    *ADAPTED,
    *(one for one in NATIVE_RULES if one.page.code not in _ELSEWHERE),
]
"""Rules on each native configuration of verl, by verl's keys."""
VERL_DEFAULTS: dict[str, Any] = {
    "actor_rollout_ref.actor.use_dynamic_bsz": False,
    "actor_rollout_ref.actor.ulysses_sequence_parallel_size": 1,
    "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size": 1,
    "actor_rollout_ref.actor.megatron.context_parallel_size": 1,
    "actor_rollout_ref.rollout.log_prob_use_dynamic_bsz": False,
    "actor_rollout_ref.ref.log_prob_use_dynamic_bsz": False,
    "actor_rollout_ref.rollout.data_parallel_size": 1,
    "actor_rollout_ref.rollout.pipeline_model_parallel_size": 1,
    "actor_rollout_ref.rollout.max_num_batched_tokens": 8192,
    "actor_rollout_ref.rollout.mode": "async",
    "actor_rollout_ref.model.override_config.attn_implementation": "sdpa",
    "algorithm.use_kl_in_reward": False,
}
"""What holds where neither the file nor a template says anything and the format documents no default: what verl 0.9.1
takes, and the attention, which the adapter chooses by what is installed."""


def facts_of(
    values: Mapping[str, Any],
    composed: ComposedTree,
    written_as: Mapping[str, str],
    machine: Mapping[str, Any] | None = None,
) -> WatchedFacts:
    """The values as facts: by documented keys, with who wrote them."""
    documented = {written: key for key, written in written_as.items()}
    written = {_documented(key, documented) for key in composed.written} | written_as.keys()
    return WatchedFacts({**values, **(machine or {})}, written, _elsewhere(composed))


def _documented(key: str, names: Mapping[str, str]) -> str:
    """A written key under documented names; below a renamed section, too."""
    found = next((one for one in upwards(key) if one in names), None)
    return key if found is None else names[found] + key[len(found) :]


def broken_relations(
    values: Mapping[str, Any],
    composed: ComposedTree,
    written_as: Mapping[str, str],
    artifacts: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[tuple[Rule, Problem]]:
    """Every broken relation, by the file's keys.

    With `artifacts`, facts about files by the node of the native configuration that names them and about the machine
    under the empty name, only those that need them: the others were told without.
    """
    facts = facts_of(values, composed, written_as, (artifacts or {}).get(""))
    yield from _run(FILE_RULES if artifacts is None else STATE, facts, artifacts is not None)
    alone = apart(facts)
    for node in native_nodes(facts):
        native = facts.below(node, {**VERL_DEFAULTS, **installed_facts(installed()), **(artifacts or {}).get(node, {})})
        for rule, problem in _run(VERL_RULES, native, artifacts is not None):
            if not (node in alone and rule.page.code in _SHARED_DEVICES):
                yield rule, replace(problem, key=f"{node}.{problem.key}")


def _run(rules: Iterable[Rule], facts: WatchedFacts, of_files: bool) -> Iterator[tuple[Rule, Problem]]:
    for one in rules:
        facts.seen.clear()
        try:
            problems = list(one.check(facts))
        except MissingFactError:
            continue
        if of_files and not any(key.startswith(_OF_FILES) for key in facts.seen):
            continue  # told when the values alone were looked at
        nobody = not any(facts.wrote(key) for key in facts.seen)
        for problem in problems:
            severity = problem.severity or one.page.severity
            lowered = nobody and severity == "error" and one.page.code not in _REQUIRED
            yield one, replace(problem, severity="warning") if lowered else problem


_REQUIRED = frozenset({"ARL027"})
"""What is lacking can only be missed by nobody's writing it."""


def _elsewhere(composed: ComposedTree) -> dict[str, str]:
    """Key -> where its value came from, when it was not the file."""
    origins = ((key, origin) for key, origin in composed.origins.items() if origin.kind != "file")
    return {key: f"template {one.name}" if one.kind == "template" else one.kind for key, one in origins}
