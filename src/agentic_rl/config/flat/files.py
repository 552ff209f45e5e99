"""The files that a configuration names: those of the shared level and of the chosen section."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.shape import shape_of
from agentic_rl.config.flat.findings import PlaceOf, nearest_place
from agentic_rl.config.flat.names import LEVELS, SECTIONS, dotted, field_of
from agentic_rl.config.flat.needs import AGENT_FILE
from agentic_rl.config.secure_paths import CheckedPath, PathCheck, check_path, check_prefix, check_value, prefix_files
from agentic_rl.config.types import Kind, PathKind, is_address


@dataclass
class CheckedFiles:
    """What the files of a configuration are worth."""

    findings: list[Finding] = field(default_factory=list)
    checked: dict[str, CheckedPath] = field(default_factory=dict)
    """Dotted key -> the file or folder that passed, to be opened later as the same one."""


def check_files(values: Mapping[str, Any], place_of: PlaceOf) -> CheckedFiles:
    """Check every path that the run would use against the path policy, each path once.

    `values` are those that did validate, by dotted key. The section of another backend is left alone.
    """
    result = CheckedFiles()
    seen: dict[tuple[str, Kind], PathCheck] = {}
    for key, value, kind in _paths(values):
        check = seen.get((value, kind))
        if check is None:
            check = seen[value, kind] = _check(value, key, kind)
            result.findings += [placed(finding, key, place_of) for finding in check.findings]
        if check.checked:
            result.checked[key] = check.checked
    if AGENT_FILE in result.checked:
        from agentic_rl.config.agent_file import check_agent_file

        findings = check_agent_file(result.checked[AGENT_FILE].path, AGENT_FILE)
        result.findings += [placed(finding, AGENT_FILE, place_of) for finding in findings]
    return result


def check_texts(values: Mapping[str, Any], place_of: PlaceOf) -> list[Finding]:
    """What the texts of the same paths show by themselves, each once; nothing is opened. See `check_files`."""
    first = {(value, kind): key for key, value, kind in reversed([*_paths(values)])}
    checks = ((key, check_value(value, key)) for (value, _), key in reversed(first.items()))
    return [placed(finding, key, place_of) for key, finding in checks if finding]


@cache
def path_keys(backend: str | None) -> tuple[tuple[str, PathKind], ...]:
    """The keys of the shared level and of a backend's section whose values are secure paths."""
    levels = ("", backend) if backend in SECTIONS else ("",)
    shapes = ((dotted(level, name), shape_of(field_of(level, name)).path) for level in levels for name in LEVELS[level])
    return tuple((key, path) for key, path in shapes if path)


def named_paths(values: Mapping[str, Any]) -> dict[str, list[str]]:
    """Dotted key -> the files and folders that it names; a prefix names those whose names begin with it."""
    return {
        key: (prefix_files(value) if kind == "prefix" and value.startswith("/") else []) or [value]
        for key, value, kind in _paths(values)
    }


def _paths(values: Mapping[str, Any]) -> Iterator[tuple[str, str, Kind]]:
    for key, path in path_keys(values.get("train_backend")):
        value = values.get(key)
        if isinstance(value, str) and not (path.address and is_address(value)):
            yield key, value, path.kind


def _check(value: str, key: str, kind: Kind) -> PathCheck:
    return check_prefix(value, key) if kind == "prefix" else check_path(value, key, kind)


def placed(finding: Finding, key: str, place_of: PlaceOf) -> Finding:
    """Give a finding the place of its key, unless it has one of its own (a line of the agent file)."""
    place = None if finding.file else nearest_place(key, place_of)
    return replace(finding, file=place.file, line=place.line, column=place.column) if place else finding
