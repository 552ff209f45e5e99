"""YAML text to a tree of nodes, each with its place. Bounded in depth and in number, without recursion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import yaml

from agentic_rl.config.source.text import Position

MAX_DEPTH = 64
"""Levels of nesting. A configuration has fewer than ten."""
MAX_NODES = 50_000
"""Keys, values and list items, aliases expanded. A large configuration has a few thousand."""

TOO_MUCH, ALIAS, DOCUMENTS = "ARL002", "ARL011", "ARL007"
Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""PyYAML's C loader where it was built with it: about ten times as fast, with the same marks."""


@dataclass
class Node:
    """One value, list or mapping as written. A mapping's children are key, value, key, value, ..."""

    kind: Literal["scalar", "list", "mapping"]
    position: Position
    tag: str | None = None
    text: str = ""
    plain: bool = False
    """Neither quoted nor a block: the text decides what it means."""
    children: list[Node] = field(default_factory=list)
    complete: bool = True


@dataclass(frozen=True)
class Remark:
    """Something wrong at a place of the text."""

    code: str
    message: str
    hint: str
    position: Position
    key: str = ""


class TooMuchError(Exception):
    """The text nests too deeply or holds too many values; `remark` says where."""

    def __init__(self, what: str, position: Position) -> None:
        super().__init__(what, position)
        self.remark = Remark(TOO_MUCH, what, "check the file: this is not a configuration that was meant", position)


def compose(text: str, loader: Any = None) -> tuple[Node | None, list[Remark]]:
    """The root of the first document (None for an empty text), and what is wrong with anchors and documents.

    Raises:
        TooMuchError: a bound is crossed.
        yaml.YAMLError, ValueError: not YAML.
    """
    builder = _Builder()
    for event in yaml.parse(text, Loader=loader or Loader):
        if isinstance(event, yaml.DocumentStartEvent) and builder.documents:
            builder.refuse_second_document(event)
            break
        builder.take(event)
    return builder.root, builder.remarks


class _Builder:
    def __init__(self) -> None:
        self.root: Node | None = None
        self.remarks: list[Remark] = []
        self.documents = 0
        self._open: list[Node] = []
        self._anchors: dict[str, Node] = {}
        self._count = 0

    def take(self, event: yaml.Event) -> None:
        """Add what one event of the parser says."""
        if isinstance(event, yaml.ScalarEvent):
            plain = bool(event.implicit[0])
            self._add(Node("scalar", _position(event), event.tag, event.value, plain), event.anchor)
        elif isinstance(event, yaml.AliasEvent):
            self._add(self._target(event), None)
        elif isinstance(event, yaml.CollectionStartEvent):
            kind: Literal["list", "mapping"] = "mapping" if isinstance(event, yaml.MappingStartEvent) else "list"
            self._enter(Node(kind, _position(event), event.tag, complete=False), event.anchor)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._open.pop().complete = True
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1

    def refuse_second_document(self, event: yaml.Event) -> None:
        """Remark on a second document; it is not read."""
        message = "a second document begins here; a configuration is one document, and only the first was read"
        self.remarks.append(Remark(DOCUMENTS, message, "remove this line of ---, or make two files", _position(event)))

    def _add(self, node: Node, anchor: str | None) -> None:
        self._count += 1
        if self._count > MAX_NODES:
            raise TooMuchError(f"more than {MAX_NODES} keys and values", node.position)
        if anchor is not None:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        else:
            self.root = node

    def _enter(self, node: Node, anchor: str | None) -> None:
        self._add(node, anchor)
        self._open.append(node)
        if len(self._open) > MAX_DEPTH:
            raise TooMuchError(f"more than {MAX_DEPTH} levels of nesting", node.position)

    def _target(self, event: yaml.AliasEvent) -> Node:
        target = self._anchors.get(str(event.anchor))
        if target is not None and target.complete:
            return target
        position = _position(event)
        if target is None:
            message = f"*{event.anchor} names an anchor that does not stand above it"
            hint = f"mark the value with &{event.anchor}, or quote the text if it is not an alias: '*{event.anchor}'"
        else:
            message = f"*{event.anchor} stands inside the value that &{event.anchor} names"
            hint = "write the value out"
        self.remarks.append(Remark(ALIAS, message, hint, position))
        return Node("scalar", position, plain=True)


def _position(event: yaml.Event) -> Position:
    mark = event.start_mark
    return Position(mark.line + 1, mark.column + 1) if mark else Position(1, 1)
