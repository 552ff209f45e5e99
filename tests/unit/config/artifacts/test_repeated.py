"""A run over many configurations reads what they share once."""

from __future__ import annotations

from typing import Any

import pytest

from agentic_rl.config.artifacts.repeated import MOST, Repeated
from agentic_rl.config.artifacts.result import Artifacts, Reader, Request


class Counted:
    """A reader that counts how often it reads."""

    def __init__(self, reader: Reader) -> None:
        self.times = 0
        self._reader = reader

    def __call__(self, request: Request) -> Artifacts:
        self.times += 1
        return self._reader(request)


def times(reader: Reader, *values: dict[str, Any], facts: tuple[dict[str, Any], ...] = ()) -> int:
    """How often a reader reads for these values, one after the other."""
    counted = Counted(reader)
    repeated = Repeated(counted)
    for number, one in enumerate(values):
        request = Request(one, {}, {}, facts[number] if facts else {})
        assert repeated(request).facts == reader(request).facts
    return counted.times


def data(request: Request) -> Artifacts:
    return Artifacts({"@rows": request.values["data"], "@limit": request.values.get("limit"), **request.facts})


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ({"data": "a", "lr": 2}, 1),
        ({"data": "b", "lr": 1}, 2),
        ({"data": "a", "lr": 1, "limit": 3}, 2),
        ({"data": "a", "lr": 1, "limit": None}, 2),
    ],
)
def test_only_what_was_looked_up_decides(second: dict[str, Any], expected: int) -> None:
    assert times(data, {"data": "a", "lr": 1}, second) == expected


def test_facts_of_earlier_readers_decide_too() -> None:
    assert times(data, {"data": "a"}, {"data": "a"}, facts=({"@x": 1}, {"@x": 2})) == 2


def test_who_looks_at_everything_is_asked_whenever_something_differs() -> None:
    def everything(request: Request) -> Artifacts:
        return Artifacts({"@keys": len(request.values)})

    assert times(everything, {"a": 1}, {"a": 1}, {"a": 2}) == 2


def test_a_key_that_was_missing_and_is_there_is_another_question() -> None:
    def present(request: Request) -> Artifacts:
        return Artifacts({"@there": "a" in request.values})

    assert times(present, {}, {}, {"a": None}) == 2


def test_what_is_kept_is_bounded() -> None:
    counted = Counted(data)
    repeated = Repeated(counted)
    for number in (*range(MOST + 1), 0):
        repeated(Request({"data": number}, {}, {}, {}))
    assert counted.times == MOST + 2
