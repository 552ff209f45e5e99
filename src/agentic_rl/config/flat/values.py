"""One broken value -> what is wrong with it, the rule, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from agentic_rl.config.flat import pages
from agentic_rl.config.flat.shape import Shape
from agentic_rl.config.flat.wording import show, type_words, yaml_text
from agentic_rl.config.rules import Page

_SWITCHES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NONE_WORDS = ("none", "null", "nil", "~", "")


@dataclass(frozen=True)
class Broken:
    """A value that its field refused."""

    name: str
    """The key without its section."""
    value: Any
    shape: Shape
    error: str
    """Pydantic's type of the error."""
    default: Any
    """The documented default; None where there is none."""


@dataclass(frozen=True)
class Verdict:
    """What to report about a broken value."""

    page: Page
    message: str
    hint: str = ""


def judge(broken: Broken) -> Verdict:
    """Say what is wrong with one value: the value, the rule, the remedy."""
    shown, rule = show(broken.value), broken.shape.rule
    if broken.error == "none_as_text":
        return _none_as_text(broken)
    if broken.error == "literal_error" and isinstance(broken.value, str):
        return Verdict(pages.NO_CHOICE, f"{shown} is not a choice; it must be {rule}", _nearest_choice(broken))
    if broken.error in _FORMS:
        page, what = _FORMS[broken.error]
        return Verdict(page, f"{shown} {what}; it must be {rule}", _in_range(broken))
    return _wrong_type(broken)


_FORMS: dict[str, tuple[Page, str]] = {
    "greater_than": (pages.OUT_OF_RANGE, "is out of range"),
    "greater_than_equal": (pages.OUT_OF_RANGE, "is out of range"),
    "less_than_equal": (pages.OUT_OF_RANGE, "is out of range"),
    "zero": (pages.OUT_OF_RANGE, "is out of range"),
    "finite_number": (pages.NOT_FINITE, "is not a finite number"),
    "string_pattern_mismatch": (pages.BAD_TEXT, "has the wrong form"),
    "string_too_short": (pages.BAD_TEXT, "is empty"),
    "string_too_long": (pages.BAD_TEXT, "is too long"),
    "string_unicode": (pages.BAD_TEXT, "holds half a character (a lone surrogate)"),
    "too_short": (pages.BAD_LIST, "is empty"),
    "repeated_item": (pages.BAD_LIST, "names something twice"),
}


def _write(broken: Broken, value: Any) -> str:
    return f"{broken.name}: {yaml_text(value)}"


def _or_default(broken: Broken) -> str:
    """The remedy where nothing in the value says what was meant."""
    if broken.shape.optional:
        return f"leave {broken.name} out, or write {broken.shape.rule}"
    if broken.default is None:
        return f"write {broken.shape.rule}"
    return f"leave {broken.name} out for its default, {yaml_text(broken.default)}"


def _in_range(broken: Broken) -> str:
    """The nearest accepted number; a distinct list; else the default."""
    value = broken.value
    if isinstance(value, list) and broken.error == "repeated_item":
        return _write(broken, [item for index, item in enumerate(value) if item not in value[:index]])
    if isinstance(value, (int, float)) and broken.error != "finite_number":
        nearest = broken.shape.nearest(value)
        if nearest is not None:
            return _write(broken, nearest)
    return _or_default(broken)


def _nearest_choice(broken: Broken) -> str:
    choices = broken.shape.choices
    text = broken.value.strip().lower().replace(" ", "-")
    for spelling in (text, text.replace("_", "-"), text.replace("-", "_")):
        near = get_close_matches(spelling, choices, n=1, cutoff=0.5)
        if near:
            return _write(broken, near[0]) if broken.shape.kind == "choice" else f"write {near[0]}"
    return _or_default(broken)


def _none_as_text(broken: Broken) -> Verdict:
    message = f"{show(broken.value)} is text; YAML's word for no value is null"
    if broken.shape.optional:
        return Verdict(pages.QUOTED, message, f"leave {broken.name} out, or write `{broken.name}: null`")
    return Verdict(pages.QUOTED, f"{message}, and this key needs {broken.shape.rule}", _or_default(broken))


def _wrong_type(broken: Broken) -> Verdict:
    value, shape = broken.value, broken.shape
    if value is None:
        return Verdict(pages.NULL, f"null (nothing written) where {shape.rule} belongs", _or_default(broken))
    if isinstance(value, str) and shape.kind != "list":
        return _from_text(broken)
    message = f"{show(value)} is {type_words(value)}; it must be {shape.rule}"
    if isinstance(value, dict):
        message = f"{show(value)} where {shape.rule} belongs; nothing may stand below {broken.name}"
    elif isinstance(value, int) and shape.kind == "float" and not isinstance(value, bool):
        message = f"{show(value)} is too large; it must be {shape.rule}"
    return Verdict(pages.WRONG_TYPE, message, _converted(broken) or _or_default(broken))


def _from_text(broken: Broken) -> Verdict:
    """Text where a number or a switch belongs: quoted, `None`, or something else."""
    value, rule = broken.value.strip(), broken.shape.rule
    if value.lower() in _NONE_WORDS:
        return _none_as_text(broken)
    meant = _reading(broken.shape.kind, value)
    if meant is not None:
        message = f"{show(broken.value)} is text because of its quotes; it must be {rule}"
        return Verdict(pages.QUOTED, message, f"without quotes: {_write(broken, meant)}")
    return Verdict(pages.WRONG_TYPE, f"{show(broken.value)} is text; it must be {rule}", _or_default(broken))


def _reading(kind: str, text: str) -> bool | int | float | None:
    """The number or switch that `text` spells, if it is the kind of value wanted."""
    if kind == "bool":
        return _SWITCHES.get(text.lower())
    if kind not in ("int", "float") or len(text) > 40:
        return None
    try:
        return int(text) if text.lstrip("+-").isdecimal() else float(text)
    except ValueError:
        return None


def _converted(broken: Broken) -> str:
    """What was most likely meant by a value of another type, or nothing."""
    for guess in (_from_list, _to_list, _to_text, _to_whole, _to_switch):
        hint = guess(broken)
        if hint:
            return hint
    return ""


def _from_list(broken: Broken) -> str:
    value = broken.value
    if isinstance(value, list) and broken.shape.kind != "list":
        plain = len(value) == 1 and not isinstance(value[0], (list, dict))
        return f"without brackets: {_write(broken, value[0])}" if plain else "write one value, not a list"
    return ""


def _to_list(broken: Broken) -> str:
    if broken.shape.kind != "list" or isinstance(broken.value, (list, dict)):
        return ""
    items = [item.strip() for item in str(broken.value)[:200].split(",")] if isinstance(broken.value, str) else []
    return f"as a list: {_write(broken, items)}" if items and all(items) else ""


def _to_text(broken: Broken) -> str:
    if broken.shape.kind not in ("text", "path", "choice") or isinstance(broken.value, (list, dict)):
        return ""
    if isinstance(broken.value, bool):
        return "yes, no, on, off, true and false are switches to YAML; put quotes around text"
    return f'if text is meant, with quotes: {broken.name}: "{show(broken.value)}"'


def _to_whole(broken: Broken) -> str:
    value = broken.value
    if broken.shape.kind != "int" or not isinstance(value, float) or not abs(value) < 1e15:
        return ""
    whole = round(value)
    return _write(broken, whole if broken.shape.ge is None and broken.shape.gt is None else max(whole, 1))


def _to_switch(broken: Broken) -> str:
    meant: Callable[[Any], bool] = bool
    return _write(broken, meant(broken.value)) if broken.shape.kind == "bool" and broken.value in (0, 1) else ""
