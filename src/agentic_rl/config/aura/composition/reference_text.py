"""The text of references: `${`, what it names, `}`, one in another, and text around them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_TOKEN = re.compile(r"\\\$\{|\$\{|[{}]")
_RESOLVER = re.compile(r"\s*([A-Za-z_][\w.]*)\s*:")
_NESTED = 16
"""References within each other."""


@dataclass(frozen=True)
class Reference:
    """One reference; its content may have others in it."""

    content: tuple[str | Reference, ...]

    def __str__(self) -> str:
        return "${" + "".join(map(str, self.content)) + "}"


Parts = Sequence[str | Reference]


class BadReferenceError(ValueError):
    """A reference that gives no value; `hint` is the remedy."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message, self.hint = message, hint


def parse(text: str) -> Parts:
    r"""Split a text into references and what stands around them; `\${` is plain text.

    Raises:
        BadReferenceError: a brace is open at the end.
    """
    levels: list[list[str | Reference]] = [[]]
    braces = [0]
    end = 0
    for token in _TOKEN.finditer(text):
        _add(levels[-1], text[end : token.start()])
        end = token.end()
        if token[0] == "${":
            levels.append([])
            braces.append(0)
        elif token[0] == "}" and len(levels) > 1 and not braces[-1]:
            braces.pop()
            inner = Reference(tuple(levels.pop()))
            levels[-1].append(inner)
        else:
            braces[-1] += (token[0] == "{") - (token[0] == "}")
            _add(levels[-1], token[0].removeprefix("\\"))
        if len(levels) > _NESTED:
            raise BadReferenceError(f"{text[:60]}: more than {_NESTED} references in each other", "write it out")
    if len(levels) > 1:
        raise BadReferenceError(f"{text[:60]!r}: a ${{ without its }}", "close the brace, or write \\${ for the text")
    _add(levels[0], text[end:])
    return levels[0]


def arguments(reference: Reference) -> tuple[str, list[Parts]] | None:
    """Name and arguments of `${name:one,two}`; None where the reference names a key."""
    first = reference.content[0] if reference.content else ""
    found = _RESOLVER.match(first) if isinstance(first, str) else None
    if found is None or not isinstance(first, str):
        return None
    given: list[list[str | Reference]] = [[]]
    depth = 0
    for part in (first[found.end() :], *reference.content[1:]):
        if isinstance(part, Reference):
            given[-1].append(part)
            continue
        for piece in re.split(r"([,\[\]{}])", part):
            depth += (piece in ("[", "{")) - (piece in ("]", "}"))
            if piece == "," and depth <= 0:
                given.append([])
            else:
                _add(given[-1], piece)
    return found[1], [_stripped(one) for one in given]


def _add(parts: list[str | Reference], text: str) -> None:
    if text and parts and isinstance(parts[-1], str):
        parts[-1] += text
    elif text:
        parts.append(text)


def _stripped(parts: list[str | Reference]) -> Parts:
    if len(parts) > 1:
        parts = [part for part in parts if isinstance(part, Reference) or part.strip()]
    return [part.strip() if isinstance(part, str) else part for part in parts] or [""]
