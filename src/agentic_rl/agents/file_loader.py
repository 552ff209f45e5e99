"""A user's agent file: imported at the start of training, with its siblings and its own line in every error."""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from agentic_rl.agents.agent import Agent
from agentic_rl.agents.errors import AgentFileError
from agentic_rl.agents.own_lines import constructor_line, own_line
from agentic_rl.agents.registry import made, registered_since, registrations
from agentic_rl.agents.released_paths import offer_released_paths
from agentic_rl.agents.wrapper import BaseEngineWrapper

_METHODS = ("generate_trajectory", "generate_agent_trajectories_async")


def load_agent_file(path: str | Path, source: bytes | None = None) -> type[BaseEngineWrapper] | Agent:
    """Import the file and return its agent: the class if it is a wrapper, an object of it if it is an `Agent`.

    `source` is the file's content where a caller has read it already (from the very file that it checked); otherwise
    it is read here. The agent's class is the one in the file that no other class there refines and that has no
    abstract method left. If the file makes an object of it at its top level, that is the agent; and a file without
    such a class may make or register one `Agent` at its top level, as in `agent = ToolAgent(...)`.

    Raises:
        AgentFileError: the file can't be read or compiled, raises while it is imported (the error has the file's
            own line), or has no agent, several, a wrapper without a method that makes trajectories, or a class that
            can't be made without arguments.
    """
    file = str(Path(path).absolute())
    before = registrations()
    offer_released_paths()
    module = _import(file, source)
    classes = _agent_classes(module)
    objects = _agent_objects(module, registered_since(before))
    if not classes and len(objects) == 1:
        return next(iter(objects.values()))
    if len(classes) != 1:
        found = ", ".join([*(one.__name__ for one in classes), *([] if classes else objects)]) or "none"
        problem = f"the file needs exactly one subclass of BaseEngineWrapper or Agent, and it has {found}"
        raise AgentFileError(file, None, problem)
    (one,) = classes
    if not issubclass(one, BaseEngineWrapper):
        own = [agent for agent in objects.values() if type(agent) is one]
        return own[0] if len(own) == 1 else _made(one, file)
    if all(getattr(one, method) is getattr(BaseEngineWrapper, method) for method in _METHODS):
        problem = f"{one.__name__} has neither {_METHODS[0]} nor {_METHODS[1]}; write one of them"
        raise AgentFileError(file, None, problem)
    return one


def _agent_objects(module: ModuleType, registered: Sequence[object]) -> dict[str, Agent]:
    """Return the agents that the file makes at its top level, each once, by a name for messages."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, Agent)}
    for place, source in enumerate(registered):
        agent = source if isinstance(source, type) else made(source)
        if isinstance(agent, Agent):
            found[f"registered agent {place + 1}"] = agent
    by_identity = {id(agent): name for name, agent in reversed(found.items())}
    return {name: found[name] for name in reversed(by_identity.values())}


def _agent_classes(module: ModuleType) -> list[type[BaseEngineWrapper] | type[Agent]]:
    own = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, (BaseEngineWrapper, Agent))
        and value.__module__ == module.__name__
    ]
    own = list(dict.fromkeys(own))  # a class may have several names
    refined = {base for one in own for base in one.__mro__[1:]}
    return [one for one in own if one not in refined and not inspect.isabstract(one)]


def _made(agent: type[Agent], file: str) -> Agent:
    try:
        return agent()
    except Exception as error:
        problem = f"{agent.__name__}() can't be made: {type(error).__name__}: {error}"
        raise AgentFileError(file, own_line(error, file) or constructor_line(agent, file), problem) from error


def _import(file: str, source: bytes | None) -> ModuleType:
    """Run the file as a module of a name that no other file has.

    Compiled here and not by the import system: that would leave a `__pycache__` folder, with modes of its own,
    in a folder whose modes are checked.
    """
    name = f"agentic_rl_agent_file_{hashlib.sha256(file.encode()).hexdigest()[:16]}"
    module = ModuleType(name)
    module.__file__ = file
    sys.modules[name] = module  # dataclasses and pickle look their module up
    try:
        with _siblings(Path(file).parent):
            text = Path(file).read_bytes() if source is None else source
            code = compile(text, file, "exec", dont_inherit=True)
            exec(code, vars(module))  # noqa: S102 - running the user's own agent is what this is for
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a file raises, it is the file's fault
        sys.modules.pop(name, None)
        raise AgentFileError(file, own_line(error, file), f"{type(error).__name__}: {error}") from error
    return module


@contextmanager
def _siblings(folder: Path) -> Iterator[None]:
    """Let the file import its siblings as a script would; later, imports inside functions still find them."""
    entry = str(folder)
    if entry in sys.path:
        yield
        return
    writes_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        sys.dont_write_bytecode = writes_bytecode
        if entry in sys.path:  # the file may have changed it
            sys.path.remove(entry)
        sys.path.append(entry)  # last: from here on, a sibling must not hide an installed package
