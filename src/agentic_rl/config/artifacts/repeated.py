"""Reading the artifacts of many configurations in one run: what they share is read once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.artifacts.result import Artifacts, Reader, Request

MOST = 64
"""Answers that each reader keeps; the oldest goes first."""

_ABSENT = object()
_FIELDS = ("values", "checked", "environ", "facts")


@dataclass(frozen=True)
class _Answer:
    asked: dict[tuple[str, Any], Any]
    """Field of the request and key -> what the reader was told."""
    artifacts: Artifacts

    def holds_for(self, request: Request) -> bool:
        """Whether the reader would be told the same again."""
        return all(_told(getattr(request, field), key) == told for (field, key), told in self.asked.items())


class Repeated:
    """A reader that answers from memory where it would look at the same values and files as before.

    It keeps what was looked up, not what was there: two configurations that differ in `lr` share one reading of their
    data. A file that changes during the run is not read again.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._answers: deque[_Answer] = deque(maxlen=MOST)

    def __call__(self, request: Request) -> Artifacts:
        """The artifacts for `request`; not to be changed by the caller."""
        for answer in self._answers:
            if answer.holds_for(request):
                return answer.artifacts
        asked: dict[tuple[str, Any], Any] = {}
        noting = Request(*(_Noting(field, getattr(request, field), asked) for field in _FIELDS))
        answer = _Answer(asked, self._reader(noting))
        self._answers.append(answer)
        return answer.artifacts


class _Noting(Mapping[str, Any]):
    """A mapping that notes what is looked up in it."""

    def __init__(self, field: str, mapping: Mapping[str, Any], asked: dict[tuple[str, Any], Any]) -> None:
        self._field, self._mapping, self._asked = field, mapping, asked

    def __getitem__(self, key: str) -> Any:
        self._asked[self._field, key] = told = _told(self._mapping, key)
        if told is _ABSENT:
            raise KeyError(key)
        return told

    def __iter__(self) -> Iterator[str]:
        self._note_all()
        return iter(self._mapping)

    def __len__(self) -> int:
        self._note_all()
        return len(self._mapping)

    def _note_all(self) -> None:
        self._asked[self._field, ...] = _told(self._mapping, ...)


def _told(mapping: Mapping[str, Any], key: Any) -> Any:
    return dict(mapping) if key is ... else mapping.get(key, _ABSENT)
