"""Where the values of a composed file come from, and where its keys stand in the user's text."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from agentic_rl.config.aura.places import upwards
from agentic_rl.config.diagnostics import Finding, Place

if TYPE_CHECKING:
    from agentic_rl.config.aura.places import ComposedTree

Kind = Literal["written", "template", "default"]


class Origins:
    """Asks a composition about dotted keys.

    Args:
        composed: the composition.
        same_as: key of a section -> the key at which a person wrote it, where a reference brought it.
        written_as: documented key -> the key that was written in its place.
    """

    def __init__(
        self,
        composed: ComposedTree,
        same_as: Mapping[str, str] | None = None,
        written_as: Mapping[str, str] | None = None,
    ) -> None:
        self._composed = composed
        self._same_as = dict(same_as or {})
        self._written_as = dict(written_as or {})
        self._written = set(composed.written)

    def kind(self, key: str) -> Kind:
        """Whether a person wrote the value, a template brought it, or it is the documented default."""
        key = self._real(key)
        if key in self._written:
            return "written"
        origin = self._composed.origins.get(key)
        if origin is None:
            return "written" if any(one.startswith((f"{key}.", f"{key}[")) for one in self._written) else "default"
        return "template" if origin.kind == "template" else "written"

    def wrote(self, key: str) -> bool:
        """Whether a person wrote it."""
        return self.kind(key) == "written"

    def template(self, key: str) -> str:
        """The template that brought the value; empty where none did."""
        origin = self._composed.origins.get(self._real(key))
        return origin.name if origin is not None and origin.kind == "template" else ""

    def placed(self, found: Finding) -> Finding:
        """The finding at the place of its key, or of what that belongs to."""
        key = self._real(found.key)
        place = next(filter(None, map(self._composed.place_of, upwards(key))), None) or self._first()
        template = self.template(found.key)
        message = f"{found.message} (from the template {template})" if template else found.message
        if place is None:
            return dataclasses.replace(found, message=message)
        return dataclasses.replace(found, message=message, file=place.file, line=place.line, column=place.column)

    def _first(self) -> Place | None:
        return next(filter(None, map(self._composed.place_of, self._composed.tree)), None)

    def _real(self, key: str) -> str:
        for candidate in upwards(key):
            for table in (self._same_as, self._written_as):
                if candidate in table:
                    return table[candidate] + key[len(candidate) :]
        return key
