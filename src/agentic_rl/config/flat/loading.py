"""A document of the flat format, completed and checked."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agentic_rl.config import flat, resolved
from agentic_rl.config.diagnostics import COMMAND_LINE, ENVIRONMENT, Finding, Place, Report
from agentic_rl.config.flat.files import check_texts, named_paths, placed
from agentic_rl.config.flat.findings import PlaceOf
from agentic_rl.config.flat.names import ALIASES, MOVED, known_keys
from agentic_rl.config.loaded import Loaded
from agentic_rl.config.overrides import Overridden, misnamed, override, set_by
from agentic_rl.config.rules import DEVICE_MEMORY
from agentic_rl.config.source import Document

if TYPE_CHECKING:
    from agentic_rl.config.artifacts import Reader

NOT_LOOKED_AT, DOTTED = "ARL015", "ARL016"
OTHER_NAMES = {**ALIASES, **MOVED}


def load_flat(
    document: Document,
    overrides: Sequence[str],
    environ: Mapping[str, str],
    *,
    files: bool,
    device_memory: int | None,
    findings: Sequence[Finding],
    readers: Sequence[Reader] | None,
) -> Loaded:
    """See `agentic_rl.config.load.load_document`."""
    sources = {document.file: document.lines} if document.file else {}
    tree, dotted = _without_dotted_keys(document)
    tree = resolved.written(document, tree)
    overridden = override(tree, overrides, environ, lambda key: OTHER_NAMES.get(key, key))
    loaded = Loaded(document, report=Report([*document.findings, *findings, *dotted, *overridden.findings]))
    loaded.report.extend(misnamed(environ, known_keys))
    loaded.facts = {} if device_memory is None else {DEVICE_MEMORY: device_memory}
    if document.whole:
        place_of = _places(document, overridden)
        validated = _validate(loaded, overridden, place_of)
        if files:
            further = _look_at_files(loaded, validated, place_of, environ, readers)
        else:
            further = [*check_texts(loaded.values, place_of), _not_looked_at(loaded)]
        loaded.report.extend(_told(finding, overridden) for finding in further)
    loaded.report = Report([_with_command(finding, document.file) for finding in loaded.report.findings], sources)
    return loaded


def _without_dotted_keys(document: Document) -> tuple[dict[str, Any], list[Finding]]:
    """The tree without names that findings and overrides would take for keys of a section."""
    tree: dict[str, Any] = {}
    findings = []
    for name, value in document.tree.items():
        if "." not in name:
            tree[name] = value
            continue
        section, _, rest = name.partition(".")
        place = document.places.get(name, Place(document.file))
        message = "the dot is part of the name here; YAML does not read it as a section and its key"
        hint = f"write `{section}:` and below it, indented, `{rest}: ...`"
        findings.append(Finding(DOTTED, "error", name, message, hint, place.file, place.line, place.column))
    return tree, findings


def _places(document: Document, overridden: Overridden) -> PlaceOf:
    """Where a value was set: on the command line, in the environment, or at a place of the document."""

    def place_of(key: str) -> Place | None:
        override = overridden.overrides.get(key)
        return Place(override.source) if override else document.places.get(key)

    return place_of


def _validate(loaded: Loaded, overridden: Overridden, place_of: PlaceOf) -> flat.Validated:
    """Fill in the configuration, its values and what is wrong with them."""
    document = loaded.document
    loaded.sources = dict.fromkeys(document.places, "file") | {
        key: override.source for key, override in overridden.overrides.items()
    }
    validated = flat.validate(overridden.tree, place_of)
    loaded.config, loaded.values, loaded.placed = validated.config, validated.values, validated.placed
    flawed = document.flawed - overridden.overrides.keys()
    loaded.report.extend(_told(finding, overridden) for finding in validated.findings if finding.key not in flawed)
    return validated


def _look_at_files(
    loaded: Loaded,
    validated: flat.Validated,
    place_of: PlaceOf,
    environ: Mapping[str, str],
    readers: Sequence[Reader] | None,
) -> list[Finding]:
    """Check the paths, read what they name, and relate that to the values."""
    from agentic_rl.config import artifacts
    from agentic_rl.config.flat.artifact_registry import relate

    looked_at = flat.check_files(loaded.values, place_of)
    loaded.checked = looked_at.checked
    found = artifacts.read(loaded.values, loaded.checked, environ, artifacts.READERS if readers is None else readers)
    loaded.facts |= found.facts
    return [
        *looked_at.findings,
        *(placed(finding, finding.key, place_of) for finding in found.findings),
        *relate(validated, loaded.facts, place_of),
    ]


def _not_looked_at(loaded: Loaded) -> Finding:
    left_out = ", ".join(named_paths(loaded.values)) or "the files that the configuration names"
    own = ", and the file's own mode and owner" if loaded.document.file else ""
    return Finding(NOT_LOOKED_AT, "note", "", f"not looked at: {left_out}{own}", "", loaded.document.file)


def _told(finding: Finding, overridden: Overridden) -> Finding:
    """The finding with the source of the value: what was not written in a file has neither line nor column."""
    if finding.file not in (COMMAND_LINE, ENVIRONMENT, ""):
        return finding
    source = overridden.overrides.get(finding.key.partition("[")[0])
    suffix = set_by(source) if source else ""
    return replace(finding, message=finding.message + suffix, line=None, column=None)


def _with_command(finding: Finding, file: str) -> Finding:
    """The finding whose remedy is a command that can be pasted as it is."""
    return (
        replace(finding, hint=finding.hint.replace("check FILE ", f"check {shlex.quote(file)} ")) if file else finding
    )
