"""The summaries of all lines, a column a field: half a million rollouts take some 25 MB."""

from __future__ import annotations

import math
from array import array

from agentic_rl.view.summaries import Summary

UNKNOWN = math.nan
"""A number that a line does not have, or that is none."""


class Names:
    """Texts of which there are few, as numbers."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of `text`, from 0."""
        number = self._numbers.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text)
        return number


class Columns:
    """One entry a rollout, and one a group: a group is neighbouring lines of the same step and prompt."""

    def __init__(self) -> None:
        self.offset, self.length = array("Q"), array("Q")
        """Of the line in the file, in bytes."""
        self.sample = array("q")
        self.reward, self.advantage = array("d"), array("d")
        self.finish = array("L")
        self.failed = array("B")
        self.first = array("Q")
        """Of each group: its first rollout."""
        self.step, self.idx, self.source = array("q"), array("q"), array("L")
        self.opening: list[str] = []
        self.sources, self.finishes = Names(), Names()

    def __len__(self) -> int:
        return len(self.offset)

    @property
    def groups(self) -> int:
        """How many groups there are; more rollouts may join the last one."""
        return len(self.first)

    def rows(self, group: int) -> range:
        """The rollouts of a group."""
        end = self.first[group + 1] if group + 1 < self.groups else len(self)
        return range(self.first[group], end)

    def begins_group(self, summary: Summary) -> bool:
        """Whether the next rollout is of another group than the last one."""
        return not self.first or (summary.step, summary.idx) != (self.step[-1], self.idx[-1])

    def begin_group(self, summary: Summary, opening: str) -> None:
        """Open a group for the rollout that `add` gets next."""
        self.first.append(len(self))
        self.step.append(summary.step)
        self.idx.append(summary.idx)
        self.source.append(self.sources.number(summary.source))
        self.opening.append(opening)

    def add(self, summary: Summary, offset: int, length: int) -> None:
        """Add a rollout to the last group."""
        self.offset.append(offset)
        self.length.append(length)
        self.sample.append(summary.sample)
        self.reward.append(_known(summary.reward))
        self.advantage.append(_known(summary.advantage))
        self.finish.append(self.finishes.number(summary.finish_reason))
        self.failed.append(summary.failed)


def _known(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) else UNKNOWN
