"""Agents by name: built in, registered, or installed under the entry point group `agentic_rl.agents`."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from typing import TypeVar, overload

from agentic_rl.agents.agent import Agent
from agentic_rl.agents.errors import DuplicateAgentError, UnknownAgentError
from agentic_rl.config.agent_names import AGENT_GROUP as GROUP
from agentic_rl.config.agent_names import REGISTERED_AGENTS

Source = Agent | Callable[[], Agent]
"""An agent, its class, or another function without arguments that makes it."""
Registered = TypeVar("Registered", bound=Source)

_BUILT_IN = {"math": "agentic_rl.agents.builtin.math:MathAgent"}


@dataclass(frozen=True)
class _Entry:
    place: str
    """Where the agent is defined, for people."""
    load: Callable[[], object]


_registered: dict[str, _Entry] = {}


@overload
def register_agent(name: str) -> Callable[[Registered], Registered]: ...
@overload
def register_agent(name: str, source: Registered) -> Registered: ...
def register_agent(name: str, source: Registered | None = None) -> Registered | Callable[[Registered], Registered]:
    """Give an agent the name that `agent_name` of a configuration refers to.

    Use it as a function, or above a class as `@register_agent("name")`.

    Raises:
        DuplicateAgentError: the name is taken; the message names both places.
    """

    def register(source: Registered) -> Registered:
        place = _place(source)
        others = [entry.place for entry in _claims(name) if entry.place != place]
        if others:
            raise _duplicate(name, [others[0], place])
        _registered[name] = _Entry(place, lambda: source)
        REGISTERED_AGENTS.add(name)
        return source

    return register if source is None else register(source)


def agent_names() -> list[str]:
    """Return every name that `find_agent` knows, sorted."""
    return sorted({*_BUILT_IN, *_registered, *(point.name for point in entry_points(group=GROUP))})


def find_agent(name: str) -> Agent:
    """Make the agent called `name`.

    Raises:
        UnknownAgentError: there is none; the message has the names that there are, the nearest first.
        DuplicateAgentError: there are two.
        TypeError: what has the name is not an agent.
    """
    claims = _claims(name)
    if not claims:
        raise _unknown(name)
    if len(claims) > 1:
        raise _duplicate(name, [claim.place for claim in claims])
    source = claims[0].load()
    agent = source() if callable(source) and not isinstance(source, Agent) else source
    if not isinstance(agent, Agent):
        raise TypeError(f"agent {name!r} ({claims[0].place}) is a {type(agent).__name__}, not an Agent")
    return agent


def _claims(name: str) -> list[_Entry]:
    claims = []
    if name in _BUILT_IN:
        claims.append(_Entry(_BUILT_IN[name], lambda: _import(_BUILT_IN[name])))
    if name in _registered:
        claims.append(_registered[name])
    for point in entry_points(group=GROUP, name=name):
        package = point.dist.name if point.dist else "?"
        claims.append(_Entry(f"{point.value} of the package {package}", point.load))
    return claims


def _import(path: str) -> object:
    module, _, attribute = path.partition(":")
    return getattr(import_module(module), attribute)


def _place(source: Source) -> str:
    definition = type(source) if isinstance(source, Agent) else source
    name = f"{definition.__module__}.{getattr(definition, '__qualname__', definition)}"
    try:
        return f"{name} ({inspect.getsourcefile(definition)}:{inspect.getsourcelines(definition)[1]})"
    except (OSError, TypeError):  # defined in an interactive session, or not in Python
        return name


def _duplicate(name: str, places: list[str]) -> DuplicateAgentError:
    return DuplicateAgentError(f"two agents are called {name!r}: {' and '.join(places)}; rename one of them")


def _unknown(name: str) -> UnknownAgentError:
    names = agent_names()
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else "."
    return UnknownAgentError(
        f"no agent is called {name!r}{hint} Known: {', '.join(names)}. A file of your own goes into "
        "agent_engine_wrapper_path"
    )
