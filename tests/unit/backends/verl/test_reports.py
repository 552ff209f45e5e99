from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentic_rl.backends.verl.reports import Follower, Reports, split

OBJECTS = st.lists(st.dictionaries(st.text(max_size=4), st.one_of(st.integers(), st.text(max_size=4)), max_size=2))


class Notebook:
    """Keeps what a tracker is told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def begin(self, phase: str, total: int, done: int) -> None:
        self.told.append(("begin", phase, total, done))

    def log(self, phase: str, step: int, metrics: dict[str, float]) -> None:
        self.told.append(("log", phase, step, dict(metrics)))

    def note(self, text: str) -> None:
        self.told.append(("note", text))

    def close(self) -> None:
        """Nothing is held back."""


@given(OBJECTS, st.data())
def test_lines_cut_anywhere_arrive_whole_and_once(
    tmp_path_factory: pytest.TempPathFactory, objects: list[dict[str, Any]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("lines") / "file.jsonl"
    content = "".join(json.dumps(one) + "\n" for one in objects).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=5)))
    follower, seen = Follower(path), list[dict[str, Any]]()
    assert list(follower.new()) == []  # not there yet
    for begin, end in zip([0, *cuts], [*cuts, len(content)], strict=True):
        with path.open("ab") as file:
            file.write(content[begin:end])
        seen += follower.new()
        assert len(seen) == content[:end].count(b"\n")
    assert seen == objects


def test_measurements_and_stages_are_passed_on(tmp_path: Path) -> None:
    metrics, events, notebook = tmp_path / "metrics", tmp_path / "events", Notebook()
    reports = Reports(metrics, events, notebook)
    reports.pass_on()
    assert (reports.started, reports.step, reports.newest) == (False, 0, {})
    events.write_text('{"stage": "weights are loaded"}\n{"total": 7, "done": 2}\n')
    reports.pass_on()
    assert not reports.started
    with events.open("a") as file:
        file.write('{"begins": true}\n')
    reports.pass_on()
    assert reports.started
    metrics.write_text(
        '{"step": 3, "data": {"actor/lr": 1e-6, "val-core/a/b/reward/mean@1": 0.5, "name": "x", "none": null}}\n'
    )
    reports.pass_on()
    reports.pass_on()
    assert reports.step == 3
    assert reports.newest == {"policy/lr": 1e-6, "val-core/a/b/reward/mean@1": 0.5, "eval/reward/a/b": 0.5}
    assert notebook.told == [
        ("note", "weights are loaded"),
        ("begin", "training", 7, 2),
        ("log", "training", 3, {"policy/lr": 1e-6}),
        ("log", "evaluation", 3, {"val-core/a/b/reward/mean@1": 0.5, "eval/reward/a/b": 0.5}),
    ]


@given(st.dictionaries(st.text(max_size=9), st.one_of(st.floats(allow_nan=False), st.text(max_size=3), st.none())))
def test_every_number_stands_on_one_side(data: dict[str, Any]) -> None:
    training, evaluation = split(data)
    numbers = [value for value in data.values() if isinstance(value, float)]
    assert len(training) + len(evaluation) == len(numbers)
    assert not training.keys() & evaluation.keys()


def test_what_a_killed_start_did_not_live_to_tell_is_told(tmp_path: Path) -> None:
    metrics = tmp_path / "verl.metrics.jsonl"
    metrics.write_text("".join(json.dumps({"step": step, "data": {"a": step}}) + "\n" for step in (1, 2, 3)))
    notebook = Notebook()
    Reports(metrics, tmp_path / "events", notebook).pass_missed_on({1}, upto=2)
    assert notebook.told == [("log", "training", 2, {"a": 2.0})]
