"""Agents by name: built in, registered, or installed under the entry point group `agentic_rl.agents`; or by place."""

from __future__ import annotations

import difflib
import inspect
import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import Any, TypeVar, overload

from agentic_rl.agents.agent import Agent
from agentic_rl.agents.errors import AgentFileError, DuplicateAgentError, NotAnAgentError, UnknownAgentError
from agentic_rl.agents.own_lines import constructor_line, own_line
from agentic_rl.agents.rllm import RLLM, agent_of_rllm
from agentic_rl.agents.wrapper import BaseEngineWrapper
from agentic_rl.config.agent_names import AGENT_GROUP as GROUP
from agentic_rl.config.agent_names import REGISTERED_AGENTS

_LOGGER = logging.getLogger(__name__)
Found = Agent | type[BaseEngineWrapper]
"""An agent, or the class of a wrapper, which is made when training starts."""
Source = Found | Callable[[], Agent]
"""An agent, a class of agents or wrappers, or another function without arguments that makes an agent."""
Registered = TypeVar("Registered", bound=Source)

_BUILT_IN = {
    "gym": "agentic_rl.agents.builtin.gym:GymAgent",
    "math": "agentic_rl.agents.builtin.math:MathAgent",
    "search_r1": "agentic_rl.agents.builtin.search_r1:SearchR1Agent",
}


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


def find_agent(name: str, *, engine: str = "") -> Found:
    """Make the agent called `name`, or return its class if that is a wrapper's.

    A name with a colon is a place: `package.module:Class`, or another attribute of the module that is an agent or makes
    one. The module is imported; it has to be installed, or to be on the PYTHONPATH.

    Args:
        name: of the agent, or its place.
        engine: `agent_engine` of a configuration, where it has one. Agents run on this package's own driver under any;
            with `rllm`, a name that only the package rllm knows is that agent of rllm.

    Raises:
        UnknownAgentError: there is none; the message has the names that there are, the nearest first.
        DuplicateAgentError: there are two.
        AgentFileError: it can't be imported or made; the error has the line of its own file.
        NotAnAgentError: what has the name is not an agent.
    """
    if ":" in name:
        return _made(name, _Entry(name, lambda: _at(name)))
    claims = _claims(name)
    if engine == RLLM and claims:
        _LOGGER.info("agent_engine rllm: %s is found without rllm and runs on this package's own driver", name)
    if not claims:
        foreign = agent_of_rllm(name) if engine == RLLM else None
        if foreign is None:
            raise _unknown(name)
        return foreign
    if len(claims) > 1:
        raise _duplicate(name, [claim.place for claim in claims])
    return _made(name, claims[0])


def registrations() -> dict[str, _Entry]:
    """Return what is registered now; to be compared by `registered_since`."""
    return dict(_registered)


def registered_since(before: dict[str, _Entry]) -> list[object]:
    """Return the sources that were registered after `before`, in that order."""
    return [entry.load() for name, entry in _registered.items() if before.get(name) is not entry]


def made(source: object) -> object:
    """Return the agent of a source: itself, its class if that is a wrapper's, or what calling it returns."""
    if isinstance(source, Agent) or (isinstance(source, type) and issubclass(source, BaseEngineWrapper)):
        return source
    return source() if callable(source) else source


def _made(name: str, entry: _Entry) -> Found:
    source = _loaded(name, entry)
    try:
        agent = made(source)
    except Exception as error:
        if str(getattr(source, "__module__", "")).partition(".")[0] == __name__.partition(".")[0]:
            raise  # one of ours says what it lacks in its own words
        file = _file(source)
        problem = f"agent {name!r} can't be made: {type(error).__name__}: {error}"
        line = own_line(error, file) or (constructor_line(source, file) if isinstance(source, type) else None)
        raise AgentFileError(file, line, problem) from error
    if isinstance(agent, Agent) or (isinstance(agent, type) and issubclass(agent, BaseEngineWrapper)):
        return agent
    raise NotAnAgentError(f"agent {name!r} ({entry.place}) is a {type(agent).__name__}, not an Agent")


def _loaded(name: str, entry: _Entry) -> object:
    try:
        return entry.load()
    except (AgentFileError, UnknownAgentError):
        raise
    except Exception as error:  # an installed package whose entry point leads nowhere
        problem = f"agent {name!r} can't be imported: {type(error).__name__}: {error}"
        raise AgentFileError(entry.place, None, problem) from error


def _file(source: Any) -> str:
    try:
        return inspect.getsourcefile(source) or str(source)
    except TypeError:  # not defined in Python
        return str(source)


def _at(place: str) -> object:
    module, _, attribute = place.partition(":")
    try:
        found: object = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken(module, error) from error
        raise UnknownAgentError(
            f"agent {place!r}: there is no module {error.name}; install it, or put its folder on the PYTHONPATH"
        ) from None
    except Exception as error:
        raise _broken(module, error) from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise UnknownAgentError(f"agent {place!r}: {module} has no {attribute!r}{hint}")
        found = getattr(found, part)
    return found


def _broken(module: str, error: Exception) -> AgentFileError:
    """The error of a module that raises while it is imported, with the innermost line of its own."""
    spec = find_spec(module)
    file = spec.origin if spec and spec.origin else module
    return AgentFileError(file, own_line(error, file), f"{type(error).__name__}: {error}")


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
    definition: Any = type(source) if isinstance(source, Agent) else source
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
        "agent_engine_wrapper_path, or is named by its place, module:Class"
    )
