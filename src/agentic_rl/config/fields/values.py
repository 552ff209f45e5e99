"""One broken value -> what is wrong with it, the rule, and the remedy."""

from __future__ import annotations

from dataclasses import dataclass

from agentic_rl.config.fields import pages
from agentic_rl.config.fields.broken import Broken
from agentic_rl.config.fields.wording import show, type_words
from agentic_rl.config.rules import Page

_NONE_WORDS = ("none", "null", "nil", "~", "")
_FORMS: dict[str, tuple[Page, str]] = {
    "greater_than": (pages.OUT_OF_RANGE, "is out of range"),
    "greater_than_equal": (pages.OUT_OF_RANGE, "is out of range"),
    "less_than_equal": (pages.OUT_OF_RANGE, "is out of range"),
    "zero": (pages.OUT_OF_RANGE, "is out of range"),
    "finite_number": (pages.NOT_FINITE, "is not a finite number"),
    "string_pattern_mismatch": (pages.BAD_TEXT, "has the wrong form"),
    "no_host": (pages.BAD_TEXT, "has the wrong form"),
    "string_too_short": (pages.BAD_TEXT, "is empty"),
    "string_too_long": (pages.BAD_TEXT, "is too long"),
    "string_unicode": (pages.BAD_TEXT, "holds half a character (a lone surrogate)"),
    "too_short": (pages.BAD_LIST, "is empty"),
    "repeated_item": (pages.BAD_LIST, "names something twice"),
}
"""Pydantic's type of error -> page and words, for values of the right type."""


@dataclass(frozen=True)
class Verdict:
    """What to report about a broken value."""

    page: Page
    message: str
    hint: str


def judge(broken: Broken) -> Verdict:
    """Say what is wrong with one value."""
    shown, rule = show(broken.value), broken.shape.rule
    if broken.error == "none_as_text":
        return _none_as_text(broken)
    if broken.error == "literal_error" and isinstance(broken.value, str):
        return Verdict(pages.NO_CHOICE, f"{shown} is not a choice; it must be {rule}", broken.nearest_choice)
    if broken.error in _FORMS:
        page, what = _FORMS[broken.error]
        if page is pages.OUT_OF_RANGE and broken.error != "zero" and not broken.shape.refuses(broken.value):
            what = "does not fit 64 bits"
        return Verdict(page, f"{shown} {what}; it must be {rule}", broken.nearest)
    return _wrong_type(broken)


def _none_as_text(broken: Broken) -> Verdict:
    message = f"{show(broken.value)} is text; YAML's word for no value is null"
    if broken.shape.optional:
        return Verdict(pages.QUOTED, message, f"leave {broken.name} out, or write `{broken.name}: null`")
    return Verdict(pages.QUOTED, f"{message}, and this key needs {broken.shape.rule}", broken.remedy)


def _wrong_type(broken: Broken) -> Verdict:
    value, rule = broken.value, broken.shape.rule
    if value is None:
        return Verdict(pages.NULL, f"null (nothing written) where {rule} belongs", broken.remedy)
    if isinstance(value, str) and broken.shape.kind != "list":
        return _text(broken)
    message = f"{show(value)} is {type_words(value)}; it must be {rule}"
    if isinstance(value, dict):
        message = f"{show(value)} where {rule} belongs; nothing may stand below {broken.name}"
    elif broken.shape.kind == "float" and type(value) is int:
        message = f"{show(value)} is too large; it must be {rule}"
    return Verdict(pages.WRONG_TYPE, message, broken.converted)


def _text(broken: Broken) -> Verdict:
    """Text where a number or a switch belongs: `None`, quoted, or something else."""
    shown, rule = show(broken.value), broken.shape.rule
    if broken.value.strip().lower() in _NONE_WORDS:
        return _none_as_text(broken)
    if broken.unquoted is not None:
        message = f"{shown} is text because of its quotes; it must be {rule}"
        return Verdict(pages.QUOTED, message, f"without quotes: {broken.written(broken.unquoted)}")
    return Verdict(pages.WRONG_TYPE, f"{shown} is text; it must be {rule}", broken.digits)
