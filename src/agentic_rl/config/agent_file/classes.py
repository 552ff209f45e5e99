"""The classes of a syntax tree and what they build on."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field

from agentic_rl.config.agent_file.bindings import statements

WRAPPER = "BaseEngineWrapper"
OWN = ("Agent", "ToolAgent", "EnvironmentAgent")
_REGISTER = "register_agent"


@dataclass
class AgentClass:
    """A class at the top level of a file."""

    name: str
    line: int
    column: int
    family: str = ""
    """`BaseEngineWrapper` or one of `OWN`; empty when none of them is seen among its bases."""
    bases: list[AgentClass] = field(default_factory=list)
    """Its bases in the same file."""
    foreign: list[str] = field(default_factory=list)
    """Bases, its own and inherited, that other modules define and that may be or have anything."""
    methods: set[str] = field(default_factory=set)
    """What it, or a base in the same file, defines."""
    abstract: set[str] = field(default_factory=set)
    """Abstract methods that it leaves abstract."""

    def inherit(self, base: AgentClass) -> None:
        """Take over what a base in the same file has; earlier bases go first, as in Python."""
        self.bases.append(base)
        self.family = self.family or base.family
        self.foreign += base.foreign
        self.abstract |= base.abstract - self.methods
        self.methods |= base.methods


def read_classes(module: ast.Module) -> list[AgentClass]:
    """The classes at the top level, also inside `if`, `try` and `with`; of two with one name the later one."""
    reader = _Reader()
    for node in statements(module.body):
        reader.read(node)
    return list(reader.classes.values())


@dataclass(frozen=True)
class AgentObject:
    """An agent that a file makes at its top level."""

    name: str
    line: int
    family: str
    class_name: str
    """Its class, where the file defines it."""


def read_objects(module: ast.Module) -> list[AgentObject]:
    """The agents that a file makes: `name = ToolAgent(...)`, `register_agent("name", ToolAgent(...))`.

    A function below `@register_agent("name")` makes one, too.
    """
    reader = _Reader()
    found: list[AgentObject] = []
    for node in statements(module.body):
        reader.read(node)
        one = reader.made(node)
        if one is not None:
            found.append(one)
    return found


class _Reader:
    """Reads statements in order and keeps what the names stand for, as Python would."""

    def __init__(self) -> None:
        self.classes: dict[str, AgentClass] = {}
        self._names: dict[str, AgentClass | str] = {}
        """A class of the file, or the full name of something imported."""
        self._star = ""

    def read(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self._names[alias.asname or _root(alias.name)] = alias.name if alias.asname else _root(alias.name)
        elif isinstance(node, ast.ImportFrom):
            self._import_from(node)
        elif isinstance(node, ast.Assign):
            self._assign(node)
        elif isinstance(node, ast.ClassDef):
            self.classes[node.name] = one = self._class(node)
            # A stand-in in an `except ImportError` has no base of ours, and must not hide the import.
            if one.family or node.name not in self._names:
                self._names[node.name] = one

    def made(self, node: ast.stmt) -> AgentObject | None:
        """The agent that a statement makes, if it makes one."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            registered = any(isinstance(one, ast.Call) and self._registers(one) for one in node.decorator_list)
            return AgentObject(node.name, node.lineno, "", "") if registered else None
        value = node.value if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr)) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if not isinstance(value, ast.Call):
            return None
        name = target.id if isinstance(target, ast.Name) else ""
        if self._registers(value):
            name = name or ast.unparse(value.args[0]) if value.args else name
            value = value.args[1] if len(value.args) == 2 and isinstance(value.args[1], ast.Call) else None
        return self._object(name, value) if name and value is not None else None

    def _object(self, name: str, call: ast.Call) -> AgentObject | None:
        meaning = self._meaning(call.func)
        if isinstance(meaning, AgentClass):
            family, class_name = meaning.family, meaning.name
        else:
            family, class_name = _family(meaning), ""
        return AgentObject(name, call.lineno, family, class_name) if family in OWN else None

    def _registers(self, call: ast.Call) -> bool:
        meaning = self._meaning(call.func)
        return isinstance(meaning, str) and meaning.rpartition(".")[2] == _REGISTER and _root(meaning) == "agentic_rl"

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = "." * node.level + (node.module or "")
        for alias in node.names:
            if alias.name == "*":
                self._star = module
            else:
                self._names[alias.asname or alias.name] = f"{module}.{alias.name}"

    def _assign(self, node: ast.Assign) -> None:
        meaning = self._meaning(node.value)
        for target in node.targets:
            if meaning and isinstance(target, ast.Name):
                self._names.setdefault(target.id, meaning)

    def _meaning(self, expression: ast.expr) -> AgentClass | str:
        """The class of the file or the full imported name that an expression stands for; empty if neither."""
        dotted = _dotted(expression)
        root, _, rest = dotted.partition(".")
        known = self._names.get(
            root, f"{self._star}.{root}" if self._star and root in (WRAPPER, *OWN, _REGISTER) else ""
        )
        if isinstance(known, AgentClass):
            return "" if rest else known
        return f"{known}.{rest}" if known and rest else known

    def _class(self, node: ast.ClassDef) -> AgentClass:
        one = AgentClass(node.name, node.lineno, node.col_offset + 1)
        for name, is_abstract in _definitions(node.body):
            (one.abstract.add if is_abstract else one.abstract.discard)(name)
            one.methods.add(name)
        for base in node.bases:
            meaning = self._meaning(base)
            if isinstance(meaning, AgentClass):
                one.inherit(meaning)
            elif _family(meaning):
                one.family = one.family or _family(meaning)
            elif meaning and _root(meaning) not in sys.stdlib_module_names:
                one.foreign.append(meaning)
        return one


def _family(full_name: str) -> str:
    """The family of an imported name. Released files import the wrapper from several modules; its last name counts."""
    last = full_name.rpartition(".")[2]
    if last == WRAPPER:
        return WRAPPER
    return last if last in OWN and _root(full_name) == "agentic_rl" else ""


def _definitions(body: list[ast.stmt]) -> Iterator[tuple[str, bool]]:
    """Names that a class body defines, and whether as an abstract method."""
    for node in statements(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, any("abstract" in _dotted(one) for one in node.decorator_list)
        elif isinstance(node, ast.Assign):
            yield from ((target.id, False) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, False


def _dotted(expression: ast.expr) -> str:
    """`a.b.C` for a name, an attribute or a subscripted one (`C[int]`); empty for anything else."""
    names: list[str] = []
    while not isinstance(expression, ast.Name):
        if isinstance(expression, ast.Attribute):
            names.append(expression.attr)
        elif not isinstance(expression, ast.Subscript):
            return ""
        expression = expression.value
    return ".".join([expression.id, *reversed(names)])


def _root(dotted: str) -> str:
    return dotted.partition(".")[0]
