"""Keys that the instances format does not have, where nothing but its own keys has a meaning."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from agentic_rl.config.aura.places import PlacedFindings
from agentic_rl.config.aura.schema import AuraConfig
from agentic_rl.config.aura.schema.section import Closed, Section
from agentic_rl.config.aura.schema.verl_conf import VerlConf
from agentic_rl.config.diagnostics import Severity
from agentic_rl.config.fields.pages import UNKNOWN_KEY

RELEASED = frozenset({"pd_mode"})
"""Keys at the top that released files have, and that have no effect here."""
_ALIKE = 0.8


def report_strangers(config: AuraConfig, lacking: set[str], findings: PlacedFindings) -> None:
    """Report keys of documented sections that are not documented: misspelled ones are errors, others without effect.

    What lies below `verl_conf` and `msrl_conf` is the engine's own.
    """
    written = findings.composed.written
    for key, name, model in _strangers(config, lacking, ""):
        if not any(one == key or one.startswith((f"{key}.", f"{key}[")) for one in written):
            continue  # a template brought it
        near = get_close_matches(name, list(model.model_fields), 1, _ALIKE)
        severity: Severity = "error" if near and near[0] not in RELEASED else "warning"
        if name in RELEASED:
            severity = "note"
        hint = f"did you mean {near[0]}?" if near else f"remove {name}"
        findings.add(
            UNKNOWN_KEY, key, f"the format has no such key here{'' if near else ': it has no effect'}", hint, severity
        )


def _strangers(section: Section, lacking: set[str], prefix: str) -> Iterator[tuple[str, str, type[Section]]]:
    model = type(section)
    if isinstance(section, VerlConf):
        return
    for name in section.model_extra or {}:
        known = isinstance(section, (Closed, AuraConfig)) or get_close_matches(name, list(model.model_fields), 1, 0.9)
        if known and "." not in name:
            yield f"{prefix}{name}", name, model
    for name in model.model_fields:
        value, key = getattr(section, name), f"{prefix}{name}"
        if key in lacking:
            continue
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, Section):
                yield from _strangers(item, lacking, f"{key}[{index}]." if isinstance(value, list) else f"{key}.")
