"""What a user's agent file holds, read with `ast`: nothing in it is imported or run.

The rule is one class per file: one subclass of `BaseEngineWrapper` (or of our own `Agent`, `ToolAgent` or
`EnvironmentAgent`) that no other class of the file refines and that has no abstract method left. A file without such a
class may make or register one agent at its top level.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from agentic_rl.config.agent_file.classes import OWN, WRAPPER, AgentClass, AgentObject, read_classes, read_objects
from agentic_rl.config.agent_file.pages import NO_METHOD, NONE, SEVERAL, UNDECIDED
from agentic_rl.config.agent_file.reading import parse_file
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.rules import Page

__all__ = ["check_agent_file"]

_METHODS = {
    WRAPPER: ("generate_trajectory", "generate_agent_trajectories_async"),
    "Agent": ("run",),
    "ToolAgent": (),
    "EnvironmentAgent": ("__init__",),
}
"""Of each family, the methods of which a class must write at least one."""
_HINTS = {
    WRAPPER: "write `async def generate_trajectory(self, task)` or, older, "
    "`def generate_agent_trajectories_async(self, tasks)`",
    "Agent": "write `async def run(self, task, model)`",
    "EnvironmentAgent": "write `def __init__(self)` that calls `super().__init__(YourEnvironment)`",
}


def check_agent_file(path: str, key: str) -> list[Finding]:
    """Check the agent file that a configuration names under `key`; the findings' places are in the agent file.

    Call it after the path policy's check, which judges the path itself, and only when that found no error.
    """
    module = parse_file(path, key)
    if isinstance(module, Finding):
        return [module]
    classes = read_classes(module)
    refined = {id(base) for one in classes for base in one.bases if one.family}
    leaves = [one for one in classes if one.family and id(one) not in refined]
    agents = [one for one in leaves if not one.abstract]
    objects = read_objects(module)
    checker = _Checker(path, key)
    if not agents and objects:
        return [] if len(objects) == 1 else [checker.several(objects)]
    if not agents:
        return [checker.none(classes, leaves)]
    if len(agents) > 1:
        return [checker.several(agents)]
    made = any(one.class_name == agents[0].name for one in objects)
    return checker.methods(agents[0], made=made)


class _Checker:
    def __init__(self, path: str, key: str) -> None:
        self._path = path
        self._key = key

    def none(self, classes: list[AgentClass], abstract: list[AgentClass]) -> Finding:
        for one in abstract:
            missing = ", ".join(sorted(one.abstract))
            return self._finding(
                NONE, f"{one.name} leaves {missing} abstract; an agent has none", f"write {missing}", one
            )
        for one in classes:
            if one.foreign and _looks_like_agent(one):
                return self._undecided(one, f"whether {one.name} is an agent depends on {', '.join(one.foreign)}")
        names = ", ".join(one.name for one in classes) or "no class"
        message = f"the file has no subclass of {', '.join(OWN)} or {WRAPPER}; at its top level is {names}"
        hint = f"from agentic_rl import {WRAPPER}, then class MyEngine({WRAPPER})"
        return self._finding(NONE, message, hint, None)

    def several(self, agents: Sequence[AgentClass | AgentObject]) -> Finding:
        names = ", ".join(f"{one.name} (line {one.line})" for one in agents)
        what = "agent classes" if isinstance(agents[0], AgentClass) else "agents"
        hint = "keep one of them here and move the others to files of their own"
        return self._finding(SEVERAL, f"{len(agents)} {what}, {names}; a file holds one", hint, agents[1])

    def methods(self, agent: AgentClass, *, made: bool) -> list[Finding]:
        wanted = _METHODS[agent.family]
        if made and agent.family == "EnvironmentAgent":  # whoever makes it passes the environment
            return []
        if not wanted or agent.methods.intersection(wanted):
            return []
        what = f"neither {' nor '.join(wanted)}" if len(wanted) > 1 else f"no {wanted[0]}"
        if agent.foreign:
            return [
                self._undecided(
                    agent, f"{agent.name} defines {what}; whether it has one depends on {', '.join(agent.foreign)}"
                )
            ]
        close = [name for one in wanted for name in get_close_matches(one, sorted(agent.methods), n=1)]
        hint = f"rename {close[0]}? Or: {_HINTS[agent.family]}" if close else _HINTS[agent.family]
        return [self._finding(NO_METHOD, f"{agent.name} defines {what}", hint, agent)]

    def _undecided(self, one: AgentClass, message: str) -> Finding:
        return self._finding(
            UNDECIDED, f"{message}, which is not in this file", "it is imported when training starts", one
        )

    def _finding(self, page: Page, message: str, hint: str, at: AgentClass | AgentObject | None) -> Finding:
        line, column = (at.line, at.column if isinstance(at, AgentClass) else 1) if at else (1, 1)
        return Finding(page.code, page.severity, self._key, message, hint, self._path, line, column)


def _looks_like_agent(one: AgentClass) -> bool:
    """Whether a class on a foreign base may be the agent: by a method that agents write, or by the base's name."""
    written = one.methods.intersection(_METHODS[WRAPPER] + _METHODS["Agent"])
    return bool(written) or any(base.endswith(("Wrapper", "Agent")) for base in one.foreign)
