"""What a job of verl reports while it runs: two files of JSON lines, passed on to the trackers."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

from agentic_rl.tracking import Tracker

OUR_NAMES = {
    "actor/pg_loss": "policy/loss",
    "actor/entropy": "policy/entropy",
    "actor/ppo_kl": "policy/kl",
    "actor/pg_clipfrac": "policy/clip_fraction",
    "actor/grad_norm": "policy/grad_norm",
    "actor/lr": "policy/lr",
    "timing_s/gen": "time/rollout",
    "timing_s/update_actor": "time/update",
    "timing_s/step": "time/step",
}
"""verl's name of a measurement -> the name that every backend has for it. The others keep verl's."""
EVALUATION = re.compile(r"(val-(core|aux)|eval)/")
SOURCE_REWARD = re.compile(r"val-(?:core|aux)/(?P<source>.+)/reward/mean@\d+")


class Follower:
    """Reads what is appended to a file of JSON lines, whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0

    def new(self) -> Iterator[dict[str, Any]]:
        """The objects that were written since the last call."""
        with contextlib.suppress(FileNotFoundError), self._path.open("rb") as file:
            file.seek(self._position)
            for line in file:
                if not line.endswith(b"\n"):
                    return
                self._position += len(line)
                yield json.loads(line)


class Reports:
    """Passes a job's stages and measurements on."""

    def __init__(self, metrics: Path, events: Path, tracker: Tracker) -> None:
        self._metrics = Follower(metrics)
        self._events = Follower(events)
        self._tracker = tracker
        self.started = False
        """Whether the first training step or an evaluation has begun."""
        self.step = 0
        """The last step that was reported."""
        self.newest: dict[str, float] = {}
        """The newest value of each measurement."""

    def pass_on(self) -> None:
        """Pass on what is new."""
        for event in self._events.new():
            self._event(event)
        for line in self._metrics.new():
            self._measured(int(line["step"]), line["data"])

    def pass_missed_on(self, known: Container[int], upto: int) -> None:
        """Pass on what an earlier start measured up to step `upto` and, killed after its save, did not live to tell."""
        for line in self._metrics.new():
            if line["step"] not in known and line["step"] <= upto:
                self._measured(int(line["step"]), line["data"])

    def _event(self, event: Mapping[str, Any]) -> None:
        if event.get("begins"):
            self.started = True
        if "total" in event:
            self._tracker.begin("training", int(event["total"]), int(event["done"]))
        if "stage" in event:
            self._tracker.note(str(event["stage"]))

    def _measured(self, step: int, data: Mapping[str, Any]) -> None:
        self.started, self.step = True, step
        training, evaluation = split(data)
        if training:
            self._tracker.log("training", step, training)
        if evaluation:
            self._tracker.log("evaluation", step, evaluation)
        self.newest |= training | evaluation


def split(data: Mapping[str, Any]) -> tuple[dict[str, float], dict[str, float]]:
    """Verl's measurements of one step as those of training and those of the evaluation, by our names."""
    numbers = {name: float(value) for name, value in data.items() if isinstance(value, (int, float))}
    training = {OUR_NAMES.get(name, name): value for name, value in numbers.items() if not EVALUATION.match(name)}
    evaluation = {name: value for name, value in numbers.items() if EVALUATION.match(name)}
    for name, value in list(evaluation.items()):
        if found := SOURCE_REWARD.fullmatch(name):
            evaluation.setdefault(f"eval/reward/{found['source']}", value)
    return training, evaluation
