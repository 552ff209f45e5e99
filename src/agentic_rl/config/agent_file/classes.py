"""The classes of a syntax tree and what they build on."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

WRAPPER = "BaseEngineWrapper"
OWN = ("Agent", "ToolAgent")


@dataclass
class AgentClass:
    """A class at the top level of a file."""

    name: str
    line: int
    column: int
    family: str = ""
    """`BaseEngineWrapper`, `Agent` or `ToolAgent`; empty when none of them is seen among its bases."""
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
    for node in _statements(module.body):
        reader.read(node)
    return list(reader.classes.values())


def agent_object(module: ast.Module) -> tuple[str, str, int] | None:
    """The first `name = ToolAgent(...)` (or `Agent`) at the top level: name, family and line."""
    reader = _Reader()
    for node in _statements(module.body):
        reader.read(node)
        made = node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) else None
        target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
        if isinstance(made, ast.Call) and isinstance(target, ast.Name):
            family = reader.family(made.func)
            if family in OWN:
                return target.id, family, node.lineno
    return None


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

    def family(self, expression: ast.expr) -> str:
        """The family of the imported class that an expression stands for; empty if it stands for none."""
        meaning = self._meaning(expression)
        return _family(meaning) if isinstance(meaning, str) else ""

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
        known = self._names.get(root, f"{self._star}.{root}" if self._star and root in (WRAPPER, *OWN) else "")
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
    for node in _statements(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, any("abstract" in _dotted(one) for one in node.decorator_list)
        elif isinstance(node, ast.Assign):
            yield from ((target.id, False) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, False


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements in the order of the text, those inside of blocks too, but not those of functions and classes."""
    pending = [*body][::-1]
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            pending.extend([*_inside(node)][::-1])


def _inside(node: ast.stmt) -> Iterator[ast.stmt]:
    yield from getattr(node, "body", ())
    for branch in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from branch.body
    yield from getattr(node, "orelse", ())
    yield from getattr(node, "finalbody", ())


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
