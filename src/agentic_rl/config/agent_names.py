"""Names of agents that need no file. The room `agents` holds the agents themselves; this room may not import it."""

from __future__ import annotations

from agentic_rl.config.agent_places import is_place, place_problem

BUILTIN_AGENTS = ("gym", "math", "search_r1")
BUILTIN_WITH_TOOLS = ("math",)
"""Those whose policy calls tools in the form of the chat template."""
BUILTIN_THAT_ASK_ONCE = ("math",)
"""Those whose policy hears of tools' results alone after the question."""
AGENT_GROUP = "agentic_rl.agents"
"""The entry point group under which installed packages offer agents."""

REGISTERED_AGENTS: set[str] = set()
"""Names given with `register_agent` in this process."""


def is_known_agent(name: str) -> bool:
    """Whether an agent of this name is built in, registered or installed, or may be at the place that it is."""
    if is_place(name):
        return place_problem(name) is None
    if name in BUILTIN_AGENTS or name in REGISTERED_AGENTS:
        return True
    from importlib.metadata import entry_points

    return bool(entry_points(group=AGENT_GROUP, name=name))


def known_agents() -> list[str]:
    """The names of all agents that are built in, registered or installed."""
    from importlib.metadata import entry_points

    installed = {one.name for one in entry_points(group=AGENT_GROUP)}
    return sorted({*BUILTIN_AGENTS, *REGISTERED_AGENTS, *installed})
