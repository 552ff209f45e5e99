"""Ground truths, as rewards compare them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from agentic_rl.agents.equality import MAX_CHARACTERS, boxed

_GSM8K = re.compile(r"####[ \t]*(.*)")


class AnswerError(ValueError):
    """A value that nothing can be compared with; the message continues `the answer ...`."""


def math_answer(value: Any) -> str:
    r"""The final answer: what follows `####`, else what the last `\boxed{}` holds, else the whole short text.

    Raises:
        AnswerError: there is none.
    """
    if isinstance(value, bool) or value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise AnswerError(f"is {value!r}".replace("None", "missing"))
    if isinstance(value, (int, float)):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, list) and len(value) == 1:
        return math_answer(value[0])
    if not isinstance(value, str):
        raise AnswerError(f"is a {type(value).__name__}, not text or a number")
    text = value.strip()
    marked = _GSM8K.findall(text)
    answer = marked[-1].strip() if marked else boxed(text)
    if answer is None:
        answer = text
        if len(text) > MAX_CHARACTERS:
            raise AnswerError(
                f"has {len(text):,} characters and neither \\boxed{{...}} nor #### in it: a reply never equals it"
            )
    if not answer:
        raise AnswerError("is empty")
    return re.sub(r"(?<=\d),(?=\d{3}\b)", "", answer) if marked else answer


def search_answers(value: Any) -> list[str]:
    """All spellings that count as right.

    Raises:
        AnswerError: there is none.
    """
    if isinstance(value, Mapping):  # {"target": [...]} of verl, {"text": [...]} of SQuAD
        value = next((value[name] for name in ("target", "text", "value") if value.get(name) is not None), None)
    if isinstance(value, bool) or value is None:
        raise AnswerError(f"is {value!r}".replace("None", "missing"))
    if isinstance(value, (int, float)):
        value = math_answer(value)
    spellings = [value] if isinstance(value, str) else value
    if not isinstance(spellings, list) or not all(isinstance(one, (str, int, float)) for one in spellings):
        raise AnswerError(f"is a {type(value).__name__}, not text or a list of texts")
    kept = list(dict.fromkeys(str(one).strip() for one in spellings if str(one).strip()))
    if not kept:
        raise AnswerError("is empty")
    return kept
