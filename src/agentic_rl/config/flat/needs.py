"""What a run can't do without: required keys and the section of the chosen backend."""

from __future__ import annotations

from agentic_rl.config.agent_file.pages import NO_AGENT
from agentic_rl.config.agent_names import BUILTIN_AGENTS, is_known_agent, known_agents
from agentic_rl.config.agent_places import is_place, place_problem
from agentic_rl.config.fields import pages
from agentic_rl.config.fields.shape import shape_of
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.findings import Findings
from agentic_rl.config.flat.names import dotted, field_of, model_of
from agentic_rl.config.flat.placed import Placed

AGENT_FILE = "agent_engine_wrapper_path"
MINDSPEED_NEEDS = ("model_name", "dataset_additional_keys")
"""Shared keys that only mindspeed_rl requires."""


def report_missing(placed: Placed, findings: Findings) -> None:
    """Report required keys that are missing, where they belong, and a chosen section that is not there."""
    agent = placed.value("agent_name")
    if isinstance(agent, str) and placed.value(AGENT_FILE) is None and not is_known_agent(agent):
        _agent_file_missing(agent, findings)
    for key in _needed(placed):
        level, _, name = key.rpartition(".")
        shape = shape_of(field_of(level, name))
        # Where null is no value, it is reported as a broken one.
        if placed.value(key) is None and (shape.optional or name not in placed.levels[level]):
            rule = shape.rule.removesuffix(", or null")
            where = f"below `{level}:`, indented by two spaces" if level else "at the top level"
            findings.add(pages.MISSING, key, f"{name} is missing; it must be {rule}", f"add `{name}: ...` {where}")
    backend = placed.backend
    if backend and backend not in placed.levels and backend not in placed.reported:
        _section_missing(backend, placed, findings)


def report_other_sections(placed: Placed, lacking: set[str], findings: Findings) -> None:
    """One note for each section of another backend."""
    for section in placed.levels:
        if not section or placed.backend in (None, section):
            continue
        missing = [name for name in required_keys(section) if dotted(section, name) in lacking]
        message = f"no effect with train_backend {placed.backend}: its values are checked, its files are not looked at"
        if missing:
            message += f"; to use it, {', '.join(missing)} would be needed too"
        findings.add(pages.OTHER_SECTION, section, message)


def required_keys(level: str) -> list[str]:
    """The keys without a default of a section, or (empty) of the shared level."""
    return [name for name, field in model_of(level).model_fields.items() if field.is_required()]


def _needed(placed: Placed) -> list[str]:
    backend = placed.backend
    needed = required_keys("")
    if backend == "mindspeed_rl":
        needed += MINDSPEED_NEEDS
    if backend in placed.levels:
        needed += [dotted(backend, name) for name in required_keys(backend)]
    return needed


def _agent_file_missing(agent: str, findings: Findings) -> None:
    from difflib import get_close_matches

    problem = place_problem(agent) if is_place(agent) else None
    if problem:
        findings.add(NO_AGENT, "agent_name", f"agent_name {show(agent)}: {problem[0]}", problem[1])
        return
    built_in = ", ".join(BUILTIN_AGENTS)
    message = f"agent_name {show(agent)} is not built in ({built_in}), and no {AGENT_FILE} names its file"
    near = get_close_matches(agent.strip().lower(), known_agents(), n=1)
    hint = f"did you mean {near[0]}? Or name its file: `{AGENT_FILE}: ...`" if near else f"add `{AGENT_FILE}: ...`"
    findings.add(pages.MISSING, AGENT_FILE, message, f"{hint} at the top level", at="agent_name")


def _section_missing(backend: str, placed: Placed, findings: Findings) -> None:
    needed = ", ".join(required_keys(backend))
    if backend in placed.empty:
        message = f"{backend} is empty; it needs {needed}"
        findings.add(pages.SECTION, backend, message, "write them below it, indented by two spaces")
        return
    hint = f"add `{backend}:` with {needed} below it, indented by two spaces"
    others = [section for section in placed.levels if section]
    hint += f"; or set `train_backend: {others[0]}`" if others else ""
    findings.add(pages.SECTION, backend, f"train_backend is {backend}, but there is no section {backend}", hint)
