"""Whether two mathematical answers are the same."""

from __future__ import annotations

import re
from fractions import Fraction

from agentic_rl.agents.verifier import VERIFIER

MAX_CHARACTERS = 300
"""Longer answers equal only what is spelled the same: comparing them symbolically may take for ever."""

_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:/[0-9]+)?")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_FRACTION = re.compile(r"([+-]?)\\[dt]?frac\{([+-]?[0-9]+)\}\{([0-9]+)\}")
_COMMAND = re.compile(r"\\(?!boxed)[A-Za-z]{2,}")


def boxed(text: str) -> str | None:
    r"""Return what the last complete `\boxed{...}` holds, None without one."""
    end = len(text)
    while (start := text.rfind("\\boxed{", 0, end)) >= 0:
        inside = _balanced(text, start + len("\\boxed{"))
        if inside is not None:
            return inside.strip()
        end = start
    return None


def _balanced(text: str, start: int) -> str | None:
    depth = 1
    for position in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start:position]
    return None


def same_answer(answer: str, truth: str) -> bool:
    """Compare by spelling, then as plain numbers; only other mathematics goes to math-verify.

    An answer that is compared to a plain number must be a number itself: `12*7` is not the answer 84, although
    math-verify would call them equal. It may block for seconds: see `compared`.
    """
    same = compared(answer, truth)
    return VERIFIER.equal(_bare(answer), _bare(truth)) if same is None else same


def compared(answer: str, truth: str) -> bool | None:
    """Do the part of `same_answer` that takes microseconds; None: only math-verify can tell."""
    answer, truth = _bare(answer), _bare(truth)
    if answer == truth:
        return True
    right = _number(truth)
    if right is not None:
        number = _number(answer)
        if number is not None or not _COMMAND.search(answer):
            return number == right
    return False if max(len(answer), len(truth)) > MAX_CHARACTERS else None


def _bare(text: str) -> str:
    """Drop what surrounds an answer without changing it: spaces, dollar signs, the full stop of a sentence."""
    return text.strip(" \t\n$").rstrip(" .$")


def _number(text: str) -> Fraction | None:
    text = _FRACTION.sub(r"\1\2/\3", text).replace(" ", "").replace("{,}", ",")
    if _THOUSANDS.fullmatch(text):
        text = text.replace(",", "")
    if len(text) > MAX_CHARACTERS or not _NUMBER.fullmatch(text):
        return None
    whole, _, divisor = text.partition("/")
    if not divisor:
        return Fraction(whole)
    return Fraction(whole) / int(divisor) if int(divisor) else None
