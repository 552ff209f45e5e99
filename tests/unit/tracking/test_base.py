from __future__ import annotations

from collections.abc import Mapping

from agentic_rl.tracking import Listeners, Phase


class Recorder:
    def __init__(self, name: str, events: list[tuple[object, ...]]) -> None:
        self._name = name
        self._events = events

    def begin(self, phase: Phase, total: int, done: int) -> None:
        self._events.append((self._name, "begin", phase, total, done))

    def log(self, phase: Phase, step: int, metrics: Mapping[str, float]) -> None:
        self._events.append((self._name, "log", phase, step, dict(metrics)))

    def note(self, text: str) -> None:
        self._events.append((self._name, "note", text))

    def close(self) -> None:
        self._events.append((self._name, "close"))


def test_every_event_reaches_every_tracker_and_the_last_one_opened_is_closed_first() -> None:
    events: list[tuple[object, ...]] = []
    listeners = Listeners([Recorder("a", events), Recorder("b", events)])
    listeners.begin("training", 3, 1)
    listeners.log("training", 2, {"x": 1.0})
    listeners.note("hello")
    listeners.close()
    assert events == [
        ("a", "begin", "training", 3, 1),
        ("b", "begin", "training", 3, 1),
        ("a", "log", "training", 2, {"x": 1.0}),
        ("b", "log", "training", 2, {"x": 1.0}),
        ("a", "note", "hello"),
        ("b", "note", "hello"),
        ("b", "close"),
        ("a", "close"),
    ]
