"""Collecting findings of the instances format, each at the place of its key or of what the key belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from agentic_rl.config.diagnostics import Finding, Place, Severity
from agentic_rl.config.rules import Page


class Origin(Protocol):
    """Where a value came from."""

    @property
    def kind(self) -> str:
        """`file`, `command line`, `environment` or `template`."""

    @property
    def name(self) -> str:
        """The template's name."""


class ComposedTree(Protocol):
    """What validation needs of a composition."""

    @property
    def tree(self) -> dict[str, Any]:
        """Plain values, resolved."""

    @property
    def origins(self) -> Mapping[str, Origin]:
        """Dotted key of a value -> where it came from."""

    @property
    def written(self) -> Iterable[str]:
        """Dotted keys of values that a person wrote."""

    @property
    def place_of(self) -> Callable[[str], Place | None]:
        """The place of a dotted key in the user's own text."""


@dataclass
class PlacedFindings:
    """A growing list of findings about one composed configuration."""

    composed: ComposedTree
    written_as: Mapping[str, str] = field(default_factory=dict)
    """Documented key -> the key as written, where they differ."""
    items: list[Finding] = field(default_factory=list)

    def add(self, page: Page, key: str, message: str, hint: str = "", severity: Severity | None = None) -> None:
        """Report `key` at its place; one that nobody wrote at the section where it belongs."""
        place = self.place(key) or Place("")
        origin = self.composed.origins.get(self.as_written(key))
        if origin is not None and origin.kind == "template":
            message += f" (from the template {origin.name})"
        severity = severity or page.severity
        self.items.append(Finding(page.code, severity, key, message, hint, place.file, place.line, place.column))

    def add_as(self, finding: Finding) -> None:
        """Report a finding that has no place yet at that of its key."""
        place = self.place(finding.key) or Place("")
        self.items.append(replace(finding, file=place.file, line=place.line, column=place.column))

    def place(self, key: str) -> Place | None:
        """The place of `key`, else of the nearest node above it; the file's first line where there is none."""
        for candidate in upwards(self.as_written(key)):
            found = self.composed.place_of(candidate)
            if found:
                return found
        return next((place for place in map(self.composed.place_of, self.composed.tree) if place), None)

    def as_written(self, key: str) -> str:
        """`key` under the names that the file has."""
        for candidate in upwards(key):
            if candidate in self.written_as:
                return self.written_as[candidate] + key[len(candidate) :]
        return key


def upwards(key: str) -> Iterator[str]:
    """`a.b[0].c`, `a.b[0]`, `a.b`, `a`."""
    while key:
        yield key
        key = key[: max(key.rfind("."), key.rfind("["), 0)]
