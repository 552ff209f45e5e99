"""Keys of verl's own below `verl_conf`, as a person wrote them, compared with those that verl has (ARL040, ARL041)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentic_rl.config.aura.composition import Composed
from agentic_rl.config.aura.composition.pages import NATIVE_KEY, NATIVE_KIND
from agentic_rl.config.aura.nesting import parts_of
from agentic_rl.config.aura.places import PlacedFindings
from agentic_rl.config.aura.reading import field_at
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.wording import show
from agentic_rl.config.verl_native.key_table import KeyTable, key_table
from agentic_rl.config.verl_native.unknown_keys import unknown_keys

NOT_OF_VERL = ("extras",)
"""Sections of `verl_conf` that are the format's own."""
_NUMBERS = ("int", "float")


def native_key_findings(composed: Composed) -> list[Finding]:
    """Warn of keys that verl does not have; refuse values of another kind than its own."""
    nodes = {node: own for node in _nodes(composed.tree) if (own := _written_below(composed, node))}
    if not nodes:
        return []
    table, findings = key_table(), PlacedFindings(composed)
    for node, own in nodes.items():
        _compare(node, own, table, findings)
    return findings.items


def _compare(node: str, own: Mapping[str, Any], table: KeyTable, findings: PlacedFindings) -> None:
    documented = [parts for parts in map(tuple, _paths(own)) if field_at(("verl_conf", *parts)) is not None]
    unknown = unknown_keys(own, table.keys)
    for one in unknown:
        if tuple(one.key.split(".")) not in documented:
            hint = f"did you mean {' or '.join(f'{node}.{near}' for near in one.near)}?" if one.near else ""
            hint = hint or f"remove it, unless it is for another verl than {table.version}"
            findings.add(NATIVE_KEY, f"{node}.{one.key}", f"{table.name} has no such key", hint)
    for path, value, kind in _other_kinds(own, table.keys, ()):
        if field_at(("verl_conf", *path)) is None or isinstance(kind, Mapping):
            message = f"{show(value)}, where {table.name} has {_words(kind)}"
            findings.add(NATIVE_KIND, ".".join((node, *path)), message, f"write {_words(kind)}")


def _nodes(tree: Mapping[str, Any]) -> Iterator[str]:
    """Where native configurations of verl may stand."""
    yield "verl_conf"
    instances = tree.get("train_instances")
    for index, one in enumerate(instances if isinstance(instances, list) else []):
        kwargs = one.get("executor_kwargs") if isinstance(one, Mapping) else None
        if isinstance(kwargs, Mapping) and kwargs.get("train_engine", "verl") == "verl":
            yield f"train_instances[{index}].executor_kwargs.train_config"


def _written_below(composed: Composed, node: str) -> dict[str, Any]:
    """The part of the tree below a node that a person wrote."""
    start = f"{node}."
    if not any(key.startswith(start) for key in composed.written):
        return {}
    value: Any = composed.tree
    for part in parts_of(node):
        value = value[int(part)] if isinstance(value, list) else value.get(part, {})
    own = _kept(value, start, composed.written) if isinstance(value, Mapping) else {}
    return {name: one for name, one in own.items() if name not in NOT_OF_VERL}


def _kept(value: Mapping[str, Any], start: str, written: set[str]) -> dict[str, Any]:
    kept = {}
    for name, one in value.items():
        key = f"{start}{name}"
        if key in written:
            below = isinstance(one, Mapping) and any(other.startswith(f"{key}.") for other in written)
            kept[name] = _kept(one, f"{key}.", written) if below else one
    return kept


def _paths(value: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, one in value.items():
        yield (*above, name)
        if isinstance(one, Mapping):
            yield from _paths(one, (*above, name))


def _other_kinds(
    own: Mapping[str, Any], known: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Path, value and what verl has instead: the name of a type, or a section."""
    for name, value in own.items():
        kind = known.get(name)
        if value is None or value == "???" or kind is None:
            continue
        if isinstance(kind, Mapping) and isinstance(value, Mapping):
            yield from _other_kinds(value, kind, (*above, name))
        elif not _fits(value, kind):
            yield (*above, name), value, kind


def _fits(value: Any, kind: Any) -> bool:
    if isinstance(kind, Mapping):
        return not kind and isinstance(value, Mapping)
    if kind == "any":
        return True
    if isinstance(value, Mapping):
        return False
    if kind == "bool":
        return isinstance(value, bool)
    if kind in _NUMBERS:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return True  # verl takes a list of files where it has one, and a number where a name is


def _words(kind: Any) -> str:
    if isinstance(kind, Mapping):
        return f"a section ({', '.join(list(kind)[:4])}{', ...' if len(kind) > 4 else ''})" if kind else "a section"
    return {"bool": "true or false", "list": "a list", "str": "text"}.get(kind, "a number")
