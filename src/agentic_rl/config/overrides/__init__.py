"""Values that win over the file: `key=value` on the command line, `AGENTIC_RL__KEY` in the environment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agentic_rl.config.agent_variables import VARIABLES
from agentic_rl.config.diagnostics import COMMAND_LINE, ENVIRONMENT, Finding
from agentic_rl.config.source import ValueTextError, scalar

PREFIX = "AGENTIC_RL__"
"""Begins the name of every variable that sets a key; two underscores stand between a section and its key."""

SYNTAX, MISFIT = "ARL012", "ARL013"
_KEY = re.compile(r"[A-Za-z_][\w-]*(?:\.[A-Za-z_][\w-]*)*\Z")


@dataclass(frozen=True)
class Override:
    """One value that somebody set outside the file."""

    key: str
    value: Any
    source: str
    """`COMMAND_LINE` or `ENVIRONMENT`."""
    written: str
    """As it was written: the argument, or the variable's name."""


@dataclass
class Overridden:
    """A file's tree with the overrides in it."""

    tree: dict[str, Any]
    overrides: dict[str, Override] = field(default_factory=dict)
    """The override that is in force, by dotted key."""
    findings: list[Finding] = field(default_factory=list)


def present(arguments: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether anything is to be overridden."""
    return bool(arguments) or any(name.startswith(PREFIX) for name in environ)


def override(
    tree: dict[str, Any],
    arguments: Sequence[str],
    environ: Mapping[str, str],
    spelled: Callable[[str], str] = lambda key: key,
) -> Overridden:
    """Set the values of `environ` and, over them, of `arguments` in a copy of `tree`.

    Args:
        tree: What the file says.
        arguments: `key=value` each.
        environ: Variables; those without the prefix are left alone.
        spelled: The documented spelling of a dotted key, so that an override also wins over another spelling.
    """
    if not present(arguments, environ):
        return Overridden(tree)
    from agentic_rl.config.overrides.settings import merge  # here: pydantic-settings doubles the start-up time

    findings: list[Finding] = []
    command_line = _fitting(tree, _once(_arguments(arguments, findings), spelled, findings), findings)
    environment = _fitting(tree, _once(_variables(environ, findings), spelled, findings), findings)
    environment = _without_conflicts(environment, command_line, findings)
    winners = {spelled(one.key): one for one in (*environment, *command_line)}
    environment = [one for one in environment if winners[spelled(one.key)] is one]
    file = _without(tree, lambda key: spelled(key) in winners and key != winners[spelled(key)].key)
    merged = merge(_tree(command_line), _tree(environment), file)
    return Overridden(merged, _in_force(file, winners.values()), findings)


def misnamed(environ: Mapping[str, str], keys: Callable[[], Iterable[str]]) -> list[Finding]:
    """A note for each variable that would set one of the dotted `keys`, were its underscores right."""
    start = PREFIX.removesuffix("_")
    others = sorted(name for name in environ if name.startswith(start) and not name.startswith(PREFIX))
    names = [name for name in others if name not in VARIABLES.values()]
    known = {key.replace(".", "_"): key for key in keys()} if names else {}
    findings = []
    for name in names:
        key = known.get(name[len(start) :].lower().replace("__", "_"))
        if key:
            hint = f"write {PREFIX}{key.upper().replace('.', '__')}, or unset it"
            message = f"the variable {name} sets nothing; the names of those that do begin with {PREFIX}"
            findings.append(replace(_finding(ENVIRONMENT, key, message, hint), severity="note"))
    return findings


def _arguments(arguments: Iterable[str], findings: list[Finding]) -> list[Override]:
    found: list[Override] = []
    for argument in arguments:
        key, equals, text = argument.partition("=")
        key = key.strip()
        if not equals or not key:
            what = "no = in it" if not equals else "no key before the ="
            findings.append(_finding(COMMAND_LINE, "", f"{argument!r} has {what}", "write key=value, e.g. lr=1e-5"))
        elif not _KEY.match(key):
            findings.append(_finding(COMMAND_LINE, "", f"{key!r} is not a key", _key_hint(key, text)))
        else:
            _add(found, findings, Override(key, text, COMMAND_LINE, argument))
    return found


def _variables(environ: Mapping[str, str], findings: list[Finding]) -> list[Override]:
    found: list[Override] = []
    for name in sorted(name for name in environ if name.startswith(PREFIX)):
        key = ".".join(name[len(PREFIX) :].lower().split("__"))
        if _KEY.match(key):
            _add(found, findings, Override(key, environ[name], ENVIRONMENT, name))
        else:
            message = f"the variable {name} names no key"
            findings.append(_finding(ENVIRONMENT, "", message, f"e.g. {PREFIX}LR or {PREFIX}VERL__NNODES"))
    return found


def _add(found: list[Override], findings: list[Finding], text: Override) -> None:
    """Read the value of `text` and keep it, or say why it can't be read."""
    try:
        found.append(Override(text.key, scalar(text.value), text.source, text.written))
    except ValueTextError as error:
        findings.append(_finding(text.source, text.key, error.message + set_by(text), error.hint))


def set_by(one: Override) -> str:
    """What a message says about where a value was set; the place `command line` says it all by itself."""
    return f" (set by {one.written})" if one.source == ENVIRONMENT else ""


def _once(found: list[Override], spelled: Callable[[str], str], findings: list[Finding]) -> list[Override]:
    kept: dict[str, Override] = {}
    for one in found:
        first = kept.setdefault(spelled(one.key), one)
        same = type(first.value) is type(one.value) and first.value == one.value
        if first is not one and not same:
            message = f"set twice: {first.written} and {one.written}"
            findings.append(_finding(one.source, one.key, message, "keep one of the two"))
    return list(kept.values())


def _fitting(tree: dict[str, Any], found: list[Override], findings: list[Finding]) -> list[Override]:
    """Those that neither replace a section by a value nor stand below a value."""
    reachable: list[Override] = []
    for one in found:
        above = _value_above(tree, one.key)
        if above:
            message = f"{above} holds a value, so {_told(one)} can't set a key below it"
            findings.append(_finding(one.source, one.key, message, f"set {above} itself", MISFIT))
        else:
            reachable.append(one)
    fitting: list[Override] = []
    for one in reachable:
        below = next((other.key for other in reachable if other.key.startswith(f"{one.key}.")), "")
        if below or isinstance(_lookup(tree, one.key), dict):
            message = f"a section, which {_told(one)} sets to one value"
            hint = f"set its keys one by one, e.g. {below or one.key + '.KEY'}=VALUE"
            findings.append(_finding(one.source, one.key, message, hint, MISFIT))
        else:
            fitting.append(one)
    return fitting


def _without_conflicts(
    environment: list[Override], command_line: list[Override], findings: list[Finding]
) -> list[Override]:
    """The variables that don't take for a section what the command line takes for a value, or the reverse."""
    kept = []
    for one in environment:
        other = next((other for other in command_line if _nested(one.key, other.key)), None)
        if other is None:
            kept.append(one)
        else:
            message = f"{one.written} and {other.written} can't both hold: one sets a section, the other a key in it"
            findings.append(_finding(one.source, one.key, message, "keep one of the two", MISFIT))
    return kept


def _nested(key: str, other: str) -> bool:
    return key.startswith(f"{other}.") or other.startswith(f"{key}.")


def _in_force(file: dict[str, Any], winners: Iterable[Override]) -> dict[str, Override]:
    """Every override by its key, and by the sections above it that the file does not have."""
    in_force: dict[str, Override] = {}
    for one in winners:
        in_force[one.key] = one
        section = one.key.rpartition(".")[0]
        while section and _lookup(file, section) is None:
            in_force.setdefault(section, one)
            section = section.rpartition(".")[0]
    return in_force


def _tree(found: Iterable[Override]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for one in found:
        *sections, name = one.key.split(".")
        level = tree
        for section in sections:
            level = level.setdefault(section, {})
        level[name] = one.value
    return tree


def _without(tree: dict[str, Any], unwanted: Callable[[str], bool], prefix: str = "") -> dict[str, Any]:
    return {
        name: _without(value, unwanted, f"{prefix}{name}.") if isinstance(value, dict) else value
        for name, value in tree.items()
        if not unwanted(f"{prefix}{name}")
    }


def _lookup(tree: Any, key: str) -> Any:
    for part in key.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def _value_above(tree: dict[str, Any], key: str) -> str:
    """The first part of `key` that holds a value (not a section, not null) in the file."""
    parts = key.split(".")
    for number in range(1, len(parts)):
        above = ".".join(parts[:number])
        value = _lookup(tree, above)
        if value is not None and not isinstance(value, dict):
            return above
    return ""


def _key_hint(key: str, text: str) -> str:
    bare = key.lstrip("+~-").partition("[")[0]
    if not _KEY.match(bare):
        return "a key is letters, digits and underscores, with a dot between a section and its key"
    return f"write {bare}=[item, item] for the whole list" if "[" in key else f"write {bare}={text}"


def _told(one: Override) -> str:
    return one.written if one.source == ENVIRONMENT else f"the override {one.written}"


def _finding(source: str, key: str, message: str, hint: str, code: str = SYNTAX) -> Finding:
    return Finding(code, "error", key, message, hint, source)
