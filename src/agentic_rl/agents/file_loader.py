"""A user's agent file: imported at the start of training, with its siblings and its own line in every error."""

from __future__ import annotations

import hashlib
import inspect
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from agentic_rl.agents.agent import Agent
from agentic_rl.agents.errors import AgentFileError
from agentic_rl.agents.wrapper import BaseEngineWrapper

_METHODS = ("generate_trajectory", "generate_agent_trajectories_async")
_LONGEST = 4000
"""Characters of an error's text that a trajectory keeps."""


def load_agent_file(path: str | Path, source: bytes | None = None) -> type[BaseEngineWrapper] | Agent:
    """Import the file and return its agent: the class if it is a wrapper, an object of it if it is an `Agent`.

    `source` is the file's content where a caller has read it already (from the very file that it checked); otherwise
    it is read here. The agent's class is the one in the file that no other class there refines and that has no
    abstract method left.

    Raises:
        AgentFileError: the file can't be read or compiled, raises while it is imported (the error has the file's
            own line), or has no such class, several, one without a method that makes trajectories, or one that can't
            be made without arguments.
    """
    file = str(Path(path).absolute())
    module = _import(file, source)
    classes = _agent_classes(module)
    if len(classes) != 1:
        found = ", ".join(one.__name__ for one in classes) or "none"
        problem = f"the file needs exactly one subclass of BaseEngineWrapper or Agent, and it has {found}"
        raise AgentFileError(file, None, problem)
    (one,) = classes
    if not issubclass(one, BaseEngineWrapper):
        return _made(one, file)
    if all(getattr(one, method) is getattr(BaseEngineWrapper, method) for method in _METHODS):
        problem = f"{one.__name__} has neither {_METHODS[0]} nor {_METHODS[1]}; write one of them"
        raise AgentFileError(file, None, problem)
    return one


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
    except (Exception, SystemExit) as error:
        del sys.modules[name]
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
        sys.path.remove(entry)
        sys.path.append(entry)  # last: from here on, a sibling must not hide an installed package


def constructor_line(one: type, file: str) -> int | None:
    """Return the line where `file` defines the constructor of a class, None if the class inherits it."""
    code = getattr(vars(one).get("__init__"), "__code__", None)
    return code.co_firstlineno if code is not None and code.co_filename == file else None


def user_file(one: type) -> str | None:
    """Return the file that defines a class, None if that is one of this package or there is none."""
    if one.__module__.partition(".")[0] == __name__.partition(".")[0]:
        return None
    return getattr(sys.modules.get(one.__module__), "__file__", None)


def with_own_line(error: BaseException, file: str | None) -> str:
    """Return the type and the text of `error`, and the innermost line of the user's `file` that it passed."""
    text = f"{type(error).__name__}: {_said(error)}"
    line = own_line(error, file) if file else None
    return text if line is None else f"{text} ({file}:{line})"


def _said(error: BaseException) -> str:
    """Return the text of an error, however long it is and whoever wrote its class."""
    try:
        text = str(error)
    except Exception as second:
        return f"(no text: {type(second).__name__})"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}... ({len(text)} characters)"


def own_line(error: BaseException, file: str) -> int | None:
    """Return the innermost line of `file` that `error` passed, None if it passed none."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
