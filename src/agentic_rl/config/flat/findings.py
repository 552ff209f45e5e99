"""Collecting findings, each with the place where its key stands or belongs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from agentic_rl.config.diagnostics import COMMAND_LINE, ENVIRONMENT, Finding, Place, Severity
from agentic_rl.config.rules import Page

PlaceOf = Callable[[str], Place | None]
"""The place of a written dotted key (list items as `[0]`), None where it is not written."""


class Findings:
    """A growing list of findings about one configuration."""

    def __init__(self, place_of: PlaceOf, written: Iterable[str], written_as: Mapping[str, str]) -> None:
        """`written`: keys in the order of the file; `written_as`: real key -> key as written, where they differ."""
        self.items: list[Finding] = []
        self._written_as = written_as
        self._place_of = place_of
        places = [place for place in map(place_of, written) if place]
        # A key that the command line set has a place without a line, and not in the file.
        self._start = next((Place(place.file, 1, 1) for place in places if place.line), None)

    def add(
        self, page: Page, key: str, message: str, hint: str = "", severity: Severity | None = None, *, at: str = ""
    ) -> None:
        """Report `key` at its place, or at that of the key `at`; a key that is not written, where it belongs."""
        place = self.place(at or key)
        file, line, column = (place.file, place.line, place.column) if place else ("", None, None)
        self.items.append(Finding(page.code, severity or page.severity, key, message, hint, file, line, column))

    def place(self, key: str) -> Place | None:
        """The place of `key` as it was written, else where it belongs."""
        base = key.partition("[")[0]
        written = self._written_as.get(base, base) + key[len(base) :]
        return nearest_place(written, self._place_of) or nearest_place(base, self._place_of) or self._start


def overridden(written: Iterable[str], written_as: Mapping[str, str], place_of: PlaceOf) -> dict[str, str]:
    """Those of the keys `written` that were set outside the file, and where: `command line` or `environment`."""
    places = ((key, place_of(written_as.get(key, key)) or place_of(key)) for key in written)
    return {key: place.file for key, place in places if place and place.file in (COMMAND_LINE, ENVIRONMENT)}


def nearest_place(key: str, place_of: PlaceOf) -> Place | None:
    """The place of `key`, else of its list, else of its section."""
    for candidate in (key, key.partition("[")[0], key.rpartition(".")[0]):
        place = place_of(candidate) if candidate else None
        if place:
            return place
    return None
