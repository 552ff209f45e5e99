"""A user's agent file: imported at the start of training, with its siblings and its own line in every error."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from agentic_rl.agents.errors import AgentFileError
from agentic_rl.agents.wrapper import BaseEngineWrapper

_METHODS = ("generate_agent_trajectories_async", "generate_trajectory")


def load_agent_file(path: str | Path) -> type[BaseEngineWrapper]:
    """Import the file and return its one subclass of `BaseEngineWrapper`.

    Raises:
        AgentFileError: the file can't be read or compiled, raises while it is imported (the error has the file's
            own line), or has no such class, several, or one without a method that makes trajectories.
    """
    file = Path(path).absolute()
    module = _import(file)
    classes = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and issubclass(value, BaseEngineWrapper) and value.__module__ == module.__name__
    ]
    if len(classes) != 1:
        found = ", ".join(one.__name__ for one in classes) or "none"
        problem = f"the file needs exactly one subclass of BaseEngineWrapper, and it has {found}"
        raise AgentFileError(str(file), None, problem)
    wrapper = classes[0]
    if all(getattr(wrapper, method) is getattr(BaseEngineWrapper, method) for method in _METHODS):
        problem = f"{wrapper.__name__} has neither {_METHODS[0]} nor {_METHODS[1]}; write one of them"
        raise AgentFileError(str(file), None, problem)
    return wrapper


def _import(file: Path) -> ModuleType:
    """Run the file as a module of a name that no other file has.

    Compiled here and not by the import system: that would leave a `__pycache__` folder, with modes of its own,
    in a folder whose modes are checked.
    """
    name = f"agentic_rl_agent_file_{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"
    module = ModuleType(name)
    module.__file__ = str(file)
    sys.modules[name] = module  # dataclasses and pickle look their module up
    try:
        with _siblings(file.parent):
            exec(compile(file.read_bytes(), str(file), "exec", dont_inherit=True), vars(module))  # noqa: S102 - its job
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise AgentFileError(str(file), own_line(error, str(file)), f"{type(error).__name__}: {error}") from error
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


def own_line(error: BaseException, file: str) -> int | None:
    """Return the innermost line of `file` that `error` passed, None if it passed none."""
    if isinstance(error, SyntaxError) and error.filename == file:
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    return next((frame.lineno for frame in reversed(frames) if frame.filename == file), None)
