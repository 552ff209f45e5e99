"""Keys that are not known where they stand: other spellings, old names, wrong levels, unknown names."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from agentic_rl.config.fields import pages
from agentic_rl.config.fields.wording import show, yaml_line
from agentic_rl.config.flat.findings import Findings
from agentic_rl.config.flat.names import ALIASES, LEVELS, MOVED, OLD_NAMES, SECTIONS, dotted, homes
from agentic_rl.config.flat.placed import Placed

_NATIVE = {
    **dict.fromkeys(("actor_rollout_ref", "algorithm", "critic", "data", "reward_model", "trainer"), "verl"),
    **dict.fromkeys(("generate_config", "megatron_training", "rl_config"), "MindSpeed-RL"),
}
"""Sections of the backends' own configurations, and whose they are."""


class Stranger:
    """A key that its level does not have."""

    def __init__(self, level: str, key: Any, value: Any) -> None:
        self.level = level
        self.value = value
        text = key if isinstance(key, str) else show(key)
        # A lone surrogate could not be printed.
        self.name = text.encode("utf-8", "backslashreplace").decode()
        self.written = dotted(level, self.name)


def place_strangers(strangers: Iterable[Stranger], placed: Placed, findings: Findings) -> None:
    """Report every stranger, and take its value over where it can only be meant for one key."""
    unindented: dict[str, list[str]] = {}
    for one in strangers:
        if one.written in ALIASES or one.written in MOVED:
            _other_spelling(one, placed, findings)
        elif one.written in OLD_NAMES:
            _old_name(one, placed, findings)
        elif homes(one.name):
            home = placed.home(one.level, one.name)
            if home in placed.empty:
                unindented.setdefault(home, []).append(one.name)
            else:
                _wrong_level(one, home, findings)
            if home is not None:
                real = dotted(home, one.name)
                placed.adopt(ALIASES.get(real, real), one.written, one.value)
        else:
            _unknown(one, findings)
    for section, names in unindented.items():
        _indent(section, names, placed, findings)


def _other_spelling(one: Stranger, placed: Placed, findings: Findings) -> None:
    real = ALIASES.get(one.written) or MOVED[one.written]
    name = real.rpartition(".")[2]
    if placed.adopt(real, one.written, one.value):
        if one.written in ALIASES:
            findings.add(
                pages.ALIAS, one.written, f"read as {name}, its name in the documentation", yaml_line(name, one.value)
            )
        return
    other = placed.value(real)
    if type(other) is type(one.value) and other == one.value:
        message = f"written twice: {one.written} is another name of {real}, and both say {show(other)}"
        findings.add(pages.ALIAS, one.written, message, f"remove {one.written}")
    else:
        message = f"{one.written} is another name of {real}; they say {show(one.value)} and {show(other)}"
        findings.add(pages.TWO_SPELLINGS, one.written, message, f"keep {real} alone")


def _old_name(one: Stranger, placed: Placed, findings: Findings) -> None:
    real = OLD_NAMES[one.written]
    placed.adopt(real, one.written, one.value)
    findings.add(pages.OLD_NAME, one.written, f"{one.name} is now {real}", yaml_line(real, one.value))


def _wrong_level(one: Stranger, home: str | None, findings: Findings) -> None:
    if home == "":
        message = f"{one.name} is a shared key; it belongs at the top level, not below {one.level}"
        hint = f"move {one.name} out of {one.level}: no indentation"
    else:
        places = " or ".join(f"`{section}:`" for section in ([home] if home else homes(one.name)))
        if one.level:
            message = f"{one.name} is no key of the section {one.level}; it is one of the section {places}"
            hint = f"remove {one.name} from {one.level}"
        else:
            message = f"{one.name} stands at the top level; it belongs below {places}"
            hint = f"move {one.name} below {places}, indented by two spaces"
    findings.add(pages.WRONG_LEVEL, one.written, message, hint)


def _indent(section: str, names: list[str], placed: Placed, findings: Findings) -> None:
    placed.empty.remove(section)
    listed = ", ".join(names)
    verb = "stand" if len(names) > 1 else "stands"
    message = (
        f"{section} is empty, and {listed} {verb} at the top level; the keys of a section stand below it, indented"
    )
    findings.add(pages.SECTION, section, message, f"indent {listed} by two spaces below `{section}:`")


def _unknown(one: Stranger, findings: Findings) -> None:
    where = f"in the section {one.level}" if one.level else "at the top level"
    message = f"there is no key {show(one.name)} {where}{_foreign_letters(one.name)}"
    findings.add(pages.UNKNOWN_KEY, one.written, message, _suggestion(one.level, one.name))


def _foreign_letters(name: str) -> str:
    """Names the characters that no key has: one that looks like a Latin letter can't be seen otherwise."""
    foreign = [f"U+{ord(one):04X} {unicodedata.name(one, 'without a name')}" for one in name if not one.isascii()]
    return f"; it holds {', '.join(dict.fromkeys(foreign[:3]))}" if foreign else ""


def _suggestion(level: str, name: str) -> str:
    """The nearest key: of the same level, else of another one."""
    if not level and name in _NATIVE:
        return f"a section of {_NATIVE[name]}'s own format; write the flat format's keys; see its reference page"
    wanted = name.strip().lower().replace("-", "_").replace(" ", "_")
    for other in (level, *(one for one in LEVELS if one != level)):
        # Farther away, only what is nearly the same.
        near = get_close_matches(wanted, _names(other), n=1, cutoff=0.7 if other == level else 0.8)
        if near:
            where = "" if other == level else f" below `{other}:`" if other else " at the top level"
            return f"did you mean {OLD_NAMES.get(near[0], near[0])}{where}?"
    return "remove it; the reference page of the flat format lists all keys"


def _names(level: str) -> list[str]:
    others = SECTIONS if not level else ()
    aliases = [key.rpartition(".")[2] for key in (*ALIASES, *OLD_NAMES) if key.rpartition(".")[0] == level]
    return [*LEVELS[level], *aliases, *others]
