"""A tree of plain values -> a typed configuration and everything that is wrong with it, in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.flat.findings import Findings, PlaceOf, overridden
from agentic_rl.config.flat.needs import report_missing, report_other_sections
from agentic_rl.config.flat.placed import Placed
from agentic_rl.config.flat.placing import place
from agentic_rl.config.flat.reading import read, values_of
from agentic_rl.config.flat.registry import rules_for
from agentic_rl.config.flat.schema import FlatConfig
from agentic_rl.config.rules import Facts, run


@dataclass
class Validated:
    """What validation makes of a tree."""

    config: FlatConfig | None = None
    """There when every key is known, every value valid and nothing required missing, though relations may be broken.
    A section of another backend that lacks required keys is left out of it."""
    values: dict[str, Any] = field(default_factory=dict)
    """Dotted key -> value of everything that did validate, defaults included."""
    findings: list[Finding] = field(default_factory=list)
    placed: Placed = field(default_factory=Placed)
    """The keys that a person wrote, at their real places."""


def validate(tree: Mapping[str, Any], place_of: PlaceOf) -> Validated:
    """Validate the plain values of a file; never raises for bad input.

    `place_of` gives the place of a written dotted key. Relations between keys run over whatever did validate.
    """
    placed = Placed()
    findings = Findings(place_of, [key for key in tree if isinstance(key, str)], placed.written_as)
    place(tree, placed, findings)
    whole, lacking = read(placed, findings)
    report_missing(placed, findings)
    sound = all(item.severity != "error" for item in findings.items)
    report_other_sections(placed, lacking, findings)
    values = values_of(whole, placed, lacking)
    outside = overridden(placed.written, placed.written_as, place_of)
    for rule, problem in run(rules_for(placed.backend), Facts(values, placed.written, outside)):
        findings.add(rule.page, problem.key, problem.message, problem.hint, problem.severity)
    unfinished = {key.partition(".")[0]: None for key in lacking}
    config = whole.model_copy(update=unfinished) if sound else None
    return Validated(config, values, findings.items, placed)
