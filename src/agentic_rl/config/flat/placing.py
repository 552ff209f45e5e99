"""A tree as written -> the keys of each level under their real names, with a finding for every key that was not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic_rl.config.fields import pages
from agentic_rl.config.fields.wording import show
from agentic_rl.config.flat.findings import Findings
from agentic_rl.config.flat.names import LEVELS, SECTIONS, UNDOCUMENTED, VALUE_ALIASES
from agentic_rl.config.flat.placed import Placed
from agentic_rl.config.flat.strangers import Stranger, place_strangers


def place(tree: Mapping[Any, Any], placed: Placed, findings: Findings) -> None:
    """Bring every key of `tree` to its real place in `placed`; unknown keys are reported and left out."""
    strangers: list[Stranger] = []
    for key, value in tree.items():
        if key in SECTIONS:
            _open_section(key, value, placed, findings)
            if isinstance(value, Mapping):
                strangers += _keep(key, value, placed)
    shared = {key: value for key, value in tree.items() if key not in SECTIONS}
    place_strangers([*_keep("", shared, placed), *strangers], placed, findings)
    _say_undocumented(placed, findings)
    _respell_values(placed, findings)


def _open_section(section: str, value: Any, placed: Placed, findings: Findings) -> None:
    if isinstance(value, Mapping):
        placed.levels[section] = {}
    elif value is None:
        placed.empty.append(section)
    else:
        placed.reported.add(section)
        message = f"{show(value)} where the keys of {section} belong; the section must be a mapping"
        hint = f"write `{section}:` and its keys below it, one a line, indented by two spaces"
        findings.add(pages.SECTION, section, message, hint)


def _keep(level: str, keys: Mapping[Any, Any], placed: Placed) -> list[Stranger]:
    """Keep the keys that belong here; give back the others."""
    known = LEVELS[level]
    placed.levels[level] = {name: value for name, value in keys.items() if name in known}
    return [Stranger(level, name, value) for name, value in keys.items() if name not in known]


def _say_undocumented(placed: Placed, findings: Findings) -> None:
    message = "read by the released system, but not named by its documentation; it may change without notice"
    for key in placed.written:
        if key in UNDOCUMENTED:
            moved = "" if key not in placed.written_as else f"its own place is the top level: {key}"
            findings.add(pages.UNDOCUMENTED, placed.written_as.get(key, key), message, moved)


def _respell_values(placed: Placed, findings: Findings) -> None:
    for key, spellings in VALUE_ALIASES.items():
        value = placed.value(key)
        if isinstance(value, str) and value in spellings:
            section, _, name = key.rpartition(".")
            placed.levels[section][name] = spellings[value]
            findings.add(pages.ALIAS, key, f"{value} is read as {spellings[value]}", f"{name}: {spellings[value]}")
