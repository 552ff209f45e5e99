"""Which of file, template and documentation gives each documented key its value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.aura.composition import Composed, Origin
from agentic_rl.config.aura.composition.pages import TEMPLATE_DIFFERS
from agentic_rl.config.aura.nesting import parts_of
from agentic_rl.config.aura.places import PlacedFindings, upwards
from agentic_rl.config.aura.reading import field_at, section_of
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.wording import show

DEFAULT = "documented default"
_SHOWN = 6


@dataclass(frozen=True)
class Provenance:
    """One documented key."""

    key: str
    value: Any
    source: str
    """`file`, `command line`, `environment`, `template NAME` or `documented default`."""
    documented: Any = None
    """The documented default, where a template has another value."""

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; `documented` where a template differs."""
        own = {"key": self.key, "value": self.value, "source": self.source}
        return own if self.documented is None else {**own, "documented": self.documented}

    def to_text(self) -> str:
        """`key: value  (source)`."""
        differs = f"; documented default {show(self.documented)}" if self.documented is not None else ""
        return f"{self.key}: {show(self.value)}  ({self.source}{differs})"


def provenance(composed: Composed, values: Mapping[str, Any], written_as: Mapping[str, str]) -> list[Provenance]:
    """Every documented key that has a value, in the order of the file's sections."""
    return list(_provenance(composed, values, written_as))


def template_differences(composed: Composed, values: Mapping[str, Any]) -> list[Finding]:
    """One note for each template that has other values than the documentation, at the item that brings it."""
    by_template: dict[Origin, list[Provenance]] = {}
    for one in _provenance(composed, values, {}):
        origin = composed.origins.get(one.key)
        if one.documented is not None and origin is not None:
            by_template.setdefault(origin, []).append(one)
    findings = PlacedFindings(composed)
    for origin, several in by_template.items():
        told = ", ".join(f"{one.key} {show(one.value)} (documented {show(one.documented)})" for one in several[:_SHOWN])
        more = f", and {len(several) - _SHOWN} more, which `agentic-rl plan` lists" if len(several) > _SHOWN else ""
        findings.add(
            TEMPLATE_DIFFERS, origin.key, f"{origin.name} has other values than the documentation: {told}{more}"
        )
    return findings.items


def _provenance(composed: Composed, values: Mapping[str, Any], written_as: Mapping[str, str]) -> Iterator[Provenance]:
    for key, value in values.items():
        parts = tuple(parts_of(key))
        field = field_at(parts) if parts and isinstance(parts[-1], str) else None
        if field is None or section_of(field) or value is None or _is_copied(composed, key):
            continue
        source = _source(composed, key, written_as)
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        differs = source.startswith("template") and default is not None and default != value
        yield Provenance(key, value, source, default if differs else None)


def _source(composed: Composed, key: str, written_as: Mapping[str, str]) -> str:
    for one in upwards(key):
        if one in written_as:
            key = written_as[one] + key[len(one) :]
            break
    origin = composed.origins.get(key)
    if origin is not None:
        return f"template {origin.name}" if origin.kind == "template" else origin.kind
    return "file" if key in composed.written else DEFAULT


def _is_copied(composed: Composed, key: str) -> bool:
    """Whether a key is in what a reference brings as a whole."""
    return any(one in composed.origins and key[len(one) :].startswith(".") for one in upwards(key))
