"""Whether the agent of a file is seen to put one question to the policy, and then at most results of tools."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from agentic_rl.config.agent_file.classes import read_classes, read_objects
from agentic_rl.config.agent_file.reading import parse_file
from agentic_rl.config.diagnostics import Finding

_ASKING = frozenset({"chat", "ask"})
_ADDRESS = frozenset({"base_url", "api_key"})
"""What hands the policy to a framework, which asks as often as it likes."""
_REPEATING = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def asks_once(path: str) -> bool:
    """Return whether that is certain; of a file that can't be parsed it is not."""
    module = parse_file(path, "")
    if isinstance(module, Finding):
        return False
    classes = read_classes(module)
    families = {one.family for one in classes if one.family} | {one.family for one in read_objects(module)}
    foreign = any(one.foreign for one in classes if one.family)
    if not families or foreign or not families <= {"Agent", "ToolAgent"}:
        return False
    asked = [node.attr for node in ast.walk(module) if isinstance(node, ast.Attribute)]
    times = sum(name in _ASKING for name in asked)
    if not _ADDRESS.isdisjoint(asked) or times > 1 or (times == 0 and families != {"ToolAgent"}):
        return False
    repeated = any(name in _ASKING for name in _in_loops(module))
    return not repeated and not _hands_over(module)


def _in_loops(module: ast.Module) -> Iterator[str]:
    """The attributes that something takes again and again."""
    for loop in ast.walk(module):
        if isinstance(loop, _REPEATING):
            yield from (node.attr for node in ast.walk(loop) if isinstance(node, ast.Attribute))


def _hands_over(module: ast.Module) -> bool:
    """Whether a `run` gives its model to something else, which may ask, too."""
    for function in ast.walk(module):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.name == "run":
            model = function.args.args[-1].arg if function.args.args else ""
            taken = [node.value for node in ast.walk(function) if isinstance(node, ast.Attribute)]
            used = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == model]
            if any(not any(node is one for one in taken) for node in used):
                return True
    return False
