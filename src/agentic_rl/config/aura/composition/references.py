"""References between values: `${a.0.b}`, relative `${..name}`, `${oc.env:NAME}`, alone or within text.

They are read as OmegaConf reads them. It is not used itself, because a file without templates is checked without
importing it, and because a finding wants the key that holds the reference, the part that is missing and what is there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from agentic_rl.config.aura.composition.reference_text import BadReferenceError, Parts, Reference, arguments, parse
from agentic_rl.config.aura.composition.resolvers import RESOLVERS
from agentic_rl.config.source.nodes import MAX_NODES

Path = tuple[str | int, ...]
START = "${"
_DEEPEST = 100
"""Levels of sections and, each for three, of references that follow each other; Python's stack has room for them."""
_LONGEST = 1 << 16
"""Characters of a text that references make."""
_PART = re.compile(r"\[([^\[\]]*)\]")


@dataclass(frozen=True)
class Unresolved:
    """A reference that gives no value."""

    path: Path
    message: str
    hint: str


class _Lacking(Exception):  # noqa: N818 - no error: the finding is about another key
    """The value referred to has a finding of its own."""


LACKING = object()
"""Stands for a value that could not be resolved."""


class References:
    """Resolves the values of one tree, each once.

    Args:
        raw: The whole tree, references as they are written.
        environ: For `${oc.env:NAME}`.
        home: Gives for a path the section whose keys come before those at the top; empty where there is none.
    """

    def __init__(
        self, raw: Mapping[str, Any], environ: Mapping[str, str], home: Callable[[Path], str] = lambda path: ""
    ) -> None:
        self._raw = raw
        self._home = home
        self.environ = environ
        self.unresolved: list[Unresolved] = []
        self._done: dict[Path, Any] = {}
        self._open: list[Path] = []
        self._level = 0

    def value(self, path: Path, raw: Any) -> Any:
        """The plain value of what stands at `path`; `LACKING` where it is a reference that gives none."""
        if isinstance(raw, str):
            return self._text(path, raw) if START in raw else raw
        if not isinstance(raw, (Mapping, list)):
            return raw
        self._level += 1
        try:
            return self._section(path, raw) if isinstance(raw, Mapping) else self._list(path, raw)
        finally:
            self._level -= 1

    def _section(self, path: Path, raw: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: self.value((*path, name), one) for name, one in raw.items()}
        return {name: one for name, one in values.items() if one is not LACKING}

    def _list(self, path: Path, raw: list[Any]) -> list[Any]:
        values = [self.value((*path, index), one) for index, one in enumerate(raw)]
        return [None if one is LACKING else one for one in values]

    def _text(self, path: Path, text: str) -> Any:
        if path in self._done:
            return self._done[path]
        try:
            value = self._evaluated(path, text)
        except _Lacking:
            value = LACKING
        except BadReferenceError as error:
            self.unresolved.append(Unresolved(path, error.message, error.hint))
            value = LACKING
        self._done[path] = value
        return value

    def _evaluated(self, path: Path, text: str) -> Any:
        if path in self._open:
            circle = " -> ".join(dotted(one) for one in (*self._open[self._open.index(path) :], path))
            raise BadReferenceError(f"{text} refers to itself: {circle[:200]}", "write the value in one of the places")
        if self._level > _DEEPEST:
            raise BadReferenceError(f"{text[:60]}: too many references follow each other", "write the value here")
        self._open.append(path)
        self._level += 3
        try:
            return self._joined(parse(text), path)
        finally:
            self._level -= 3
            self._open.pop()

    def _joined(self, parts: Parts, path: Path) -> Any:
        """The value of the only part, or the text of several."""
        if len(parts) == 1:
            only = parts[0]
            return self._referred(only, path) if isinstance(only, Reference) else only
        texts = [part if isinstance(part, str) else self._as_text(part, path) for part in parts]
        if sum(map(len, texts)) > _LONGEST:
            raise BadReferenceError(f"the references make a text of more than {_LONGEST} characters", "write it out")
        return "".join(texts)

    def _as_text(self, part: Reference, path: Path) -> str:
        value = self._referred(part, path)
        if isinstance(value, (Mapping, list)):
            kind = "section" if isinstance(value, Mapping) else "list"
            raise BadReferenceError(f"{part} is a {kind}, which can't stand within text", "refer to one of its values")
        return str(value)

    def _referred(self, reference: Reference, path: Path) -> Any:
        given = arguments(reference)
        if given is None:
            name = self._joined(reference.content, path)
            return self.at(str(name).strip(), path, str(reference))
        name, parts = given
        resolver = RESOLVERS.get(name)
        if resolver is None:
            known = ", ".join(RESOLVERS)
            raise BadReferenceError(f"{reference}: {name}: is not known; known are {known}", "write the value itself")
        return resolver(self, [self._joined(one, path) for one in parts], path, str(reference))

    def at(self, name: str, path: Path, shown: str) -> Any:
        """The value that `name` refers to from `path`, as `a.0.b` from the top, `.b` beside it, `..b` a level up.

        Raises:
            BadReferenceError: there is none.
        """
        target = absolute(name, path, shown)
        home = "" if name.startswith(".") else self._home(path)
        section = self._raw.get(home)
        if isinstance(section, Mapping) and target[0] in section:
            target = (home, *target)
        return self._follow(target, shown)

    def _follow(self, target: Path, shown: str) -> Any:
        """Walk from the top; a reference on the way is resolved first, and the rest looked up in its value."""
        node: Any = self._raw
        here: Path = ()
        plain = False
        for part in target:
            if not plain and isinstance(node, str) and START in node:
                node, plain = self._settled(here, node), True
            below = _below(node, part, here, shown)
            here = (*here, int(part) if isinstance(node, list) else part)
            node = below
        return node if plain else self._settled(here, node)

    def _settled(self, path: Path, raw: Any) -> Any:
        value = self.value(path, raw)
        if value is LACKING:
            raise _Lacking
        return value


def absolute(name: str, path: Path, shown: str) -> Path:
    """The path that a reference at `path` means.

    Raises:
        BadReferenceError: it leaves the file, or has an empty part.
    """
    dots = len(name) - len(name.lstrip("."))
    if dots > len(path):
        raise BadReferenceError(f"{shown} leads out of the file: it stands {len(path)} levels deep", "use fewer dots")
    start = path[:-dots] if dots else ()
    rest = _PART.sub(r".\1", name[dots:]).lstrip(".")
    parts = rest.split(".") if rest else []
    if not all(parts) or not (parts or dots):
        raise BadReferenceError(f"{shown} names no key", "write ${section.key}")
    return (*start, *parts)


def dotted(path: Path) -> str:
    """`("a", 0, "b")` -> `a[0].b`."""
    key = ""
    for part in path:
        key += f"[{part}]" if isinstance(part, int) else f".{part}" if key else part
    return key


def too_large(value: Any) -> bool:
    """Whether a resolved tree, which may hold the same section many times, has more values than a file may."""
    pending, count = [value], 0
    while pending and count <= MAX_NODES:
        one = pending.pop()
        count += 1
        if isinstance(one, Mapping):
            pending += one.values()
        elif isinstance(one, list):
            pending += one
    return count > MAX_NODES


def _below(node: Any, part: str | int, here: Path, shown: str) -> Any:
    if isinstance(node, Mapping):
        if part in node:
            return node[part]
        near = get_close_matches(str(part), map(str, node), 1, 0.6)
        names = [*near, *(name for name in map(str, node) if name not in near)]
        there = f"it has {', '.join(names[:6])}{', ...' if len(names) > 6 else ''}" if node else "it is empty"
        hint = f"${{{_spelled((*here, near[0]))}}}" if near else f"write a key that is there, or add {part}"
        raise BadReferenceError(f"{shown}: {dotted(here) or 'the file'} has no key {part}; {there}", hint)
    if isinstance(node, list):
        if str(part).isdecimal() and int(part) < len(node):
            return node[int(part)]
        have = f"{len(node)} item{'' if len(node) == 1 else 's'}"
        hint = f"${{{_spelled((*here, 0))}...}}, items count from 0" if node else f"add an item to {dotted(here)}"
        raise BadReferenceError(f"{shown}: {dotted(here)} has {have}, and none is {part}", hint)
    what = "is empty" if node is None else "is one value"
    raise BadReferenceError(f"{shown}: {dotted(here)} {what}, so that it has no {part}", f"refer to {dotted(here)}")


def _spelled(path: Path) -> str:
    """As references spell it: `a.0.b`."""
    return ".".join(map(str, path))
