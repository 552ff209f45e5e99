"""Text that breaks no line and drives no terminal, whatever a file holds."""

from __future__ import annotations


def one_line(text: str) -> str:
    """`text` with control characters, lone surrogates, line separators and direction marks spelled out."""
    return text if text.isprintable() else "".join(map(_spelled, text))


def same_length(text: str) -> str:
    """`text` with one replacement character for each of those, so that columns stay what they were."""
    return text if text.isprintable() else "".join(one if one.isprintable() else _instead(one) for one in text)


def _spelled(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def _instead(character: str) -> str:
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"
