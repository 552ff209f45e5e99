"""Which templates of `defaults` are there, in which folders, and what to say of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from agentic_rl.config.aura.composition import pages
from agentic_rl.config.aura.composition.defaults import Item, holds, is_folder, templates_in
from agentic_rl.config.rules import Page
from agentic_rl.config.verl_native.installation import config_dir

_SHOWN = 8


@dataclass
class Found:
    """Items whose templates are there."""

    items: list[Item]
    folders: list[Path]
    """Where to look for them, beside the file's own folder."""
    told: list[tuple[Page, str, str, str]] = field(default_factory=list)
    """Page, key, message and remedy."""


def find(items: Sequence[Item], folders: list[Path], missing: list[str], beside: Path) -> Found:
    """Look for every template; those of verl also in the installed one."""
    found = Found([], folders)
    everywhere = [beside, *folders]
    absent = [item for item in items if item.needed and not any(holds(one, item.template) for one in everywhere)]
    verl = config_dir() if absent else None
    if verl is not None and any(holds(verl, item.template) for item in absent):
        found.folders = [*folders, verl]
        found.told.append(_taken_from(verl, [item for item in absent if holds(verl, item.template)], missing))
        absent = [item for item in absent if not holds(verl, item.template)]
    found.items = [item for item in items if item not in absent]
    of_group = [item for item in absent if item.group and any(is_folder(one / item.group) for one in everywhere)]
    found.told += [_not_in_group(item, everywhere) for item in of_group]
    nowhere = [item for item in absent if item not in of_group]
    if nowhere:
        found.told.append(_nowhere(nowhere, missing, found.folders))
    return found


def _taken_from(verl: Path, items: Sequence[Item], missing: Sequence[str]) -> tuple[Page, str, str, str]:
    names = ", ".join(dict.fromkeys(item.name for item in items))
    why = f"{', '.join(missing[:2])} is not there" if missing else "no folder of hydra.searchpath has it"
    key = "hydra.searchpath" if missing else items[0].key
    return pages.OF_VERL, key, f"{why}; {names} is taken from the installed verl, {verl}", ""


def _not_in_group(item: Item, everywhere: Sequence[Path]) -> tuple[Page, str, str, str]:
    folder = next(one / item.group for one in everywhere if is_folder(one / item.group))
    there = templates_in(folder)
    name = item.template.rpartition("/")[2]
    near = get_close_matches(name, there, 1, 0.5)
    listed = f"it has {', '.join(there[:_SHOWN])}{' ...' if len(there) > _SHOWN else ''}" if there else "it has none"
    hint = f"- {item.group}: {near[0]}" if near else f"- {item.group}: {there[0]}" if there else f"add {name}.yaml"
    return pages.NOT_IN_GROUP, item.key, f"there is no {name}.yaml in {folder}; {listed}", hint


def _nowhere(items: Sequence[Item], missing: Sequence[str], folders: Sequence[Path]) -> tuple[Page, str, str, str]:
    names = list(dict.fromkeys(item.template for item in items))
    where = [*map(str, folders), *(f"{one} (not there)" for one in missing)]
    looked = f" in {', '.join(where[:3])} or" if where else ""
    verb = "are" if len(names) > 1 else "is"
    message = f"{', '.join(names)} {verb} not to be found{looked} beside the file or in an installed verl"
    there = sorted({name for folder in folders for name in templates_in(folder)})
    near = get_close_matches(names[0], there, 1, 0.6)
    hint = f"- {near[0]}" if near else "hydra:\n  searchpath:\n    - file:///FOLDER/OF/verl/trainer/config"
    return pages.NOT_FOUND, items[0].key, f"{message}; what the file says itself is checked alone", hint
