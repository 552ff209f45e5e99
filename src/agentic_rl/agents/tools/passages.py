"""What a search finds, and how the policy reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

_TEXTS = ("contents", "text", "content", "passage", "body")
"""Names under which collections of documents have their text, the first of them before the others."""


class SearchError(RuntimeError):
    """A search, or an index, does not work; the message says why."""


@dataclass(frozen=True)
class Passage:
    """A document, or a part of one."""

    text: str
    title: str = ""
    score: float | None = None
    """How well it fits the query, on the scale of whatever found it; None: not told."""


class Searcher(Protocol):
    """Finds passages."""

    async def search(self, query: str) -> list[Passage]:
        """Return the passages that fit a query best, the best one first.

        Raises:
            SearchError: there is no answer.
        """
        ...


def passage(document: Any, score: float | None = None) -> Passage:
    r"""Read a document: a text, or an object with `contents` (`title\ntext`), or with `text` and maybe `title`.

    Raises:
        ValueError: it has no text.
    """
    if isinstance(document, str):
        return Passage(document, score=score)
    if not isinstance(document, Mapping):
        raise ValueError(f"a document is {type(document).__name__}; it must be a text or an object")
    name = next((name for name in _TEXTS if isinstance(document.get(name), str)), None)
    if name is None:
        raise ValueError(f"a document has none of {', '.join(_TEXTS)}; its keys are {', '.join(map(str, document))}")
    text, title = document[name], document.get("title")
    if not isinstance(title, str):
        title = ""
        if name == "contents" and "\n" in text:
            title, _, text = text.partition("\n")
    return Passage(text.strip(), title.strip().strip('"'), score)


def as_text(passages: Sequence[Passage]) -> str:
    """Write passages as the policy reads them, one after the other with its number and title."""
    if not passages:
        return "Nothing was found."
    return "\n".join(
        f"Doc {number}{f' (Title: {one.title})' if one.title else ''}: {one.text}"
        for number, one in enumerate(passages, 1)
    )
