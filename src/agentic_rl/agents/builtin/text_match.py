"""Whether a short answer in words is right, as data sets of questions judge it."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Mapping
from typing import Any, Literal

Match = Literal["exact", "substring"]
MATCHES: tuple[Match, ...] = ("exact", "substring")

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without punctuation, the articles a, an and the, and further blank space (as SQuAD compares)."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def right_answers(truth: Any) -> list[str]:
    """The spellings in a ground truth: a text, a list of them, or verl's `{"target": ...}`."""
    if isinstance(truth, Mapping):
        truth = truth.get("target")
    if truth is None:
        return []
    return [str(one) for one in truth] if isinstance(truth, Iterable) and not isinstance(truth, str) else [str(truth)]


def matches(answer: str, truths: Iterable[str], match: Match = "exact") -> bool:
    """Whether an answer equals one of the truths or, with `substring`, has one of them in it as whole words."""
    said = normalized(answer)
    known = [one for one in map(normalized, truths) if one]
    if match == "exact":
        return said in known
    return any(f" {one} " in f" {said} " for one in known)
