"""What the text environments of the agent `gym` share."""

from __future__ import annotations

import random
from abc import abstractmethod
from typing import Any, ClassVar

from agentic_rl.agents.environment import Environment
from agentic_rl.agents.task import Task


class Game(Environment):
    """An episode that `extra_info` describes: `seed` and `size` say what is to be done, the same in every rollout."""

    inline = True
    name: ClassVar[str]
    sizes: ClassVar[range]
    """The sizes there are."""
    size: ClassVar[int]
    """The usual one."""
    hides: ClassVar[bool] = False
    """Whether two games may begin with the same text."""

    def reset(self, task: Task) -> str:
        """Set the game up; its opening is shown unless the prompt of the data has it already."""
        opening = self.begin(self._whole(task, "seed", 0), self._size(task))
        shown = any(opening in str(message.get("content")) for message in task.prompt)
        return "" if shown else opening

    @abstractmethod
    def begin(self, seed: int, size: int) -> str:
        """Set the game up and return its rules and the first look at it."""

    @abstractmethod
    def solution(self) -> str:
        """Return the best result as text, for people: the ground truth of the data."""

    def _size(self, task: Task) -> int:
        size = self._whole(task, "size", self.size)
        if size not in self.sizes:
            raise ValueError(
                f"extra_info.size is {size}; {self.name} has sizes from {self.sizes[0]} to {self.sizes[-1]}"
            )
        return size

    def _whole(self, task: Task, key: str, default: int) -> int:
        value: Any = task.extra_info.get(key)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"extra_info.{key} is {value!r}; it must be a whole number")
        return value


def stream(name: str, seed: int, size: int) -> random.Random:
    """The random numbers of a game, which depend on nothing else."""
    return random.Random(f"{name}/{size}/{seed}")  # noqa: S311 - a game, not a secret
