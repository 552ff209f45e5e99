"""Nodes to plain values: keys, tags, duplicates, merge keys. Every key gets its place, every doubt a remark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from agentic_rl.config.source.nodes import ALIAS, MAX_DEPTH, MAX_NODES, Node, Remark, TooMuchError
from agentic_rl.config.source.scalars import resolve, tagged
from agentic_rl.config.source.text import NOT_TEXT, Position

DUPLICATE, TAG, KEY, DOUBT = "ARL005", "ARL008", "ARL009", "ARL010"

_PREFIX = "tag:yaml.org,2002:"
_SCALAR_TAGS = ("str", "int", "float", "bool", "null")
_COLLECTION_TAGS = {"list": "seq", "mapping": "map"}


class Pair(NamedTuple):
    """A key of a mapping with its value."""

    key: Node
    value: Node


class Evaluation:
    """The values of one document, with the place of every key and list item.

    What comes through an alias or a merge key has the place where it is written.
    """

    def __init__(self) -> None:
        self.places: dict[str, Position] = {}
        self.flawed: set[str] = set()
        """Keys whose value has a remark of its own, so that nobody judges the value again."""
        self._remarks: dict[tuple[str, Position], Remark] = {}
        self._count = 0

    @property
    def remarks(self) -> list[Remark]:
        """What is wrong; a value that aliases repeat is remarked on once."""
        return list(self._remarks.values())

    def value(self, node: Node, key: str = "", depth: int = 0) -> Any:
        """The plain value of `node`, which stands at the dotted `key`.

        Raises:
            TooMuchError: the aliases expand to too much.
        """
        self._bound(node, depth)
        if node.kind == "scalar":
            return self._scalar(node, key)
        if node.tag not in (None, "!", _PREFIX + _COLLECTION_TAGS[node.kind]):
            self._refuse_tag(node, key)
        if node.kind == "list":
            return [self._item(child, f"{key}[{number}]", depth) for number, child in enumerate(node.children)]
        return self._mapping(node, key, depth)

    def _item(self, node: Node, key: str, depth: int) -> Any:
        self.places.setdefault(key, node.position)
        return self.value(node, key, depth + 1)

    def _mapping(self, node: Node, key: str, depth: int) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        for name, pair in self._pairs(node, key, depth).items():
            dotted = f"{key}.{name}" if key else name
            self.places.setdefault(dotted, pair.key.position)
            tree[name] = self.value(pair.value, dotted, depth + 1)
        return tree

    def _pairs(self, node: Node, key: str, depth: int) -> dict[str, Pair]:
        """The pairs of a mapping by name; its own keys win over those that merge keys bring."""
        self._bound(node, depth)
        own: dict[str, Pair] = {}
        merged: dict[str, Pair] = {}
        merge_key: Node | None = None
        for pair in _pairs_of(node):
            if _is_merge(pair.key):
                if merge_key is not None:
                    self._remark_duplicate(pair.key, merge_key, key, "<<")
                merge_key = pair.key
                merged = {**self._merged(pair.value, key, depth), **merged}
                continue
            name = self._name(pair.key, key)
            if name is None:
                continue
            own[name] = self._once(own[name], pair, key, name) if name in own else pair
        return {**merged, **own}

    def _merged(self, node: Node, key: str, depth: int) -> dict[str, Pair]:
        sources = node.children if node.kind == "list" else [node]
        pairs: dict[str, Pair] = {}
        for source in sources:
            if source.kind != "mapping":
                message = "the merge key << takes a section (or a list of sections) that an anchor names"
                self._remark(Remark(ALIAS, message, "<<: *name, with &name at the section above", node.position, key))
                continue
            found = self._pairs(source, key, depth + 1)
            self._count += len(found)
            pairs = {**found, **pairs}  # the first of several sources wins
        return pairs

    def _once(self, first: Pair, second: Pair, key: str, name: str) -> Pair:
        """Remark on a key that is written twice. Two sections are read as one, so that all their keys are checked."""
        self._remark_duplicate(second.key, first.key, key, name)
        one, two = first.value, second.value
        if one.kind == two.kind == "mapping" and one is not two:
            both = Node("mapping", two.position, two.tag, children=one.children + two.children)
            return Pair(second.key, both)
        return second

    def _remark_duplicate(self, second: Node, first: Node, key: str, name: str) -> None:
        dotted = f"{key}.{name}" if key else name
        line, column = first.position
        message = f"written twice: at line {line}, column {column}, and here; a key stands once"
        self._remark(Remark(DUPLICATE, message, "keep one of the two", second.position, dotted))

    def _name(self, node: Node, key: str) -> str | None:
        """A key's name; None for a list or mapping as key."""
        if node.kind != "scalar":
            message = f"a {node.kind} stands where a key belongs; keys are text"
            self._remark(Remark(KEY, message, "write key: value", node.position, key))
            return None
        if node.tag not in (None, "!", _PREFIX + "str"):
            self._refuse_tag(node, key)
        elif node.plain and not isinstance(value := resolve(node.text).value, str):
            kind = "an empty value" if value is None else f"a {type(value).__name__}"
            message = f"the key {node.text or '(nothing)'} is read as {kind}; keys are text"
            hint = f"quote it if it is meant: '{node.text}'" if node.text else "write the key before the colon"
            self._remark(Remark(KEY, message, hint, node.position, f"{key}.{node.text}" if key else node.text))
        return self._without_surrogates(node, key)

    def _scalar(self, node: Node, key: str) -> Any:
        if node.tag not in (None, "!"):
            return self._tagged(node, key)
        if not node.plain:
            return self._without_surrogates(node, key)
        reading = resolve(node.text)
        if reading.doubt:
            self._flaw(Remark(DOUBT, reading.doubt, reading.remedy, node.position, key))
        return reading.value

    def _tagged(self, node: Node, key: str) -> Any:
        kind = str(node.tag).removeprefix(_PREFIX)
        if kind not in _SCALAR_TAGS:
            self._refuse_tag(node, key)
            return node.text
        try:
            return tagged(kind, node.text)
        except ValueError as error:
            self._flaw(Remark(TAG, str(error), f"leave out !!{kind}", node.position, key))
            return node.text

    def _refuse_tag(self, node: Node, key: str) -> None:
        shown = str(node.tag).replace(_PREFIX, "!!")
        message = f"the tag {shown}; a configuration holds plain text, numbers, booleans, lists and sections"
        self._flaw(
            Remark(TAG, message, "leave the tag out, or quote the value if it begins with !", node.position, key)
        )

    def _without_surrogates(self, node: Node, key: str) -> str:
        # Only the pure-Python loader lets the escape \ud800 pass; such text can't be printed or written.
        if node.text.isprintable() or not re.search("[\ud800-\udfff]", node.text):
            return node.text
        message = "half of a surrogate pair, which is no character"
        self._flaw(Remark(NOT_TEXT, message, "write the character itself", node.position, key))
        return re.sub("[\ud800-\udfff]", "\ufffd", node.text)

    def _flaw(self, remark: Remark) -> None:
        self.flawed.add(remark.key)
        self._remark(remark)

    def _remark(self, remark: Remark) -> None:
        self._remarks.setdefault((remark.code, remark.position), remark)

    def _bound(self, node: Node, depth: int) -> None:
        self._count += 1
        if self._count > MAX_NODES:
            raise TooMuchError(f"aliases expand to more than {MAX_NODES} values", node.position)
        if depth > MAX_DEPTH:
            raise TooMuchError(f"aliases nest more than {MAX_DEPTH} levels deep", node.position)


def _pairs_of(node: Node) -> Iterator[Pair]:
    children = iter(node.children)
    return (Pair(key, value) for key, value in zip(children, children, strict=True))


def _is_merge(node: Node) -> bool:
    return node.kind == "scalar" and ((node.plain and node.text == "<<") or node.tag == _PREFIX + "merge")
