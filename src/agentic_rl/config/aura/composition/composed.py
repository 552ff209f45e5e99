"""What a composition gives: plain values, where each came from, and where it stands in the user's own text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentic_rl.config.diagnostics import Finding, Place

Kind = Literal["file", "command line", "environment", "template"]


@dataclass(frozen=True)
class Origin:
    """Where a value came from."""

    kind: Kind
    name: str = ""
    """The template's name, as the item of `defaults` has it; of an override, how it was written."""
    key: str = ""
    """The key of that item, `defaults[1]`."""


@dataclass
class Composed:
    """A file of the instances format with its templates, overrides and references put in."""

    tree: dict[str, Any] = field(default_factory=dict)
    """Plain values, resolved; without `hydra` and `defaults`, and without what could not be resolved."""
    origins: dict[str, Origin] = field(default_factory=dict)
    """Dotted key of each value -> where it came from; what a reference brings has that of the reference."""
    written: set[str] = field(default_factory=set)
    """Dotted keys, sections too, that a person wrote and no template replaced."""
    findings: list[Finding] = field(default_factory=list)
    flawed: frozenset[str] = frozenset()
    """Keys with a finding here, that nobody should judge again."""
    templates: dict[str, Any] = field(default_factory=dict)
    """What the templates say, by dotted key, also where a person wrote something else; references as written."""
    places: Mapping[str, Place] = field(default_factory=dict)
    """Of the user's own text."""

    def place_of(self, key: str) -> Place | None:
        """The place of a key in the user's own text; of a template's key, that of the item that brought it.

        What a reference brings has the place of the reference.
        """
        origin = self.origins.get(key)
        if origin is not None and origin.kind in ("command line", "environment"):
            return Place(origin.kind)
        if key in self.places:
            return self.places[key]
        if origin is not None and origin.kind == "template":
            return self.places.get(origin.key)
        return self._of_override_below(key) or self._through_reference(key)

    def _of_override_below(self, key: str) -> Place | None:
        """A section that stands nowhere in the text, but in an override."""
        below = (one for name, one in self.origins.items() if name.startswith(f"{key}."))
        return next((Place(one.kind) for one in below if one.kind in ("command line", "environment")), None)

    def _through_reference(self, key: str) -> Place | None:
        while key:
            key = key[: max(key.rfind("."), key.rfind("["), 0)]
            if key in self.origins or key in self.places:
                return self.place_of(key)
        return None
