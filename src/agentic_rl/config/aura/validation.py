"""A composed configuration of the instances format -> typed configuration, values, and everything that is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.config.aura.names import renamed
from agentic_rl.config.aura.own_configurations import read_own
from agentic_rl.config.aura.places import ComposedTree, PlacedFindings
from agentic_rl.config.aura.reading import UNSET, field_at, read, values_of
from agentic_rl.config.aura.schema import AuraConfig
from agentic_rl.config.aura.strangers import report_strangers
from agentic_rl.config.diagnostics import Finding


@dataclass
class Validated:
    """What validation makes of a composed tree."""

    config: AuraConfig | None = None
    """There when every value is valid and nothing required missing, though relations may be broken."""
    values: dict[str, Any] = field(default_factory=dict)
    """Dotted key -> value of everything that did validate, documented defaults included."""
    findings: list[Finding] = field(default_factory=list)
    written_as: dict[str, str] = field(default_factory=dict)
    """Documented key -> the key as written, where they differ."""


def validate(composed: ComposedTree) -> Validated:
    """Validate a composed tree; never raises for bad input.

    Relations between keys run over whatever did validate.
    """
    from agentic_rl.config.aura.rules.registry import broken_relations

    names = renamed(_settled(composed))
    findings = PlacedFindings(composed, names.written_as)
    for page, key, message, hint in names.told:
        warning = page.severity == "error" and hint == "remove cluster_mode"
        findings.add(page, key, message, hint, "warning" if warning else None)
    whole, lacking = read(names.tree, findings)
    report_strangers(whole, lacking, findings)
    values = dict(values_of(whole, lacking))
    for node, own in read_own(whole, lacking, findings):
        values = {key: value for key, value in values.items() if not key.startswith(f"{node}.")} | own
    sound = all(item.severity != "error" for item in findings.items)
    result = Validated(whole if sound else None, values, findings.items, names.written_as)
    for rule, problem in broken_relations(values, composed, names.written_as):
        findings.add(rule.page, problem.key, problem.message, problem.hint, problem.severity)
    return result


def _settled(composed: ComposedTree) -> dict[str, Any]:
    """The tree without what a template leaves open: there the documented default holds.

    verl's templates have null, or `???`, for sizes that one has to choose.
    """
    templates = {key for key, origin in composed.origins.items() if origin.kind == "template"}
    return {name: _without_open(value, name, (name,), templates) for name, value in composed.tree.items()}


def _without_open(value: Any, key: str, loc: tuple[str, ...], templates: set[str]) -> Any:
    if not isinstance(value, Mapping):
        return value
    kept = {}
    for name, below in value.items():
        here = f"{key}.{name}"
        open_here = below is None or below == UNSET
        if open_here and here in templates and field_at((*loc, str(name))) is not None:
            continue
        kept[name] = _without_open(below, here, (*loc, str(name)), templates)
    return kept
