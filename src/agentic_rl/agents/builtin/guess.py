"""`guess`: find a number by guesses, each answered with higher or lower."""

from __future__ import annotations

import re
from typing import ClassVar

from agentic_rl.agents.builtin.game import Game, stream
from agentic_rl.agents.environment import Observation
from agentic_rl.agents.task import Message

FOUND, NONSENSE = 1.0, -0.1
"""What the number earns, and what a reply costs that is no number of the range."""

_NUMBER = re.compile(r"(?<![\w.])-?[0-9]+(?![\w.]*[\w])")


class Guess(Game):
    """A number from 1 to `size`; there are as many guesses as halving the range takes."""

    name = "guess"
    sizes: ClassVar[range] = range(2, 10_001)
    size: ClassVar[int] = 16
    hides = True

    def begin(self, seed: int, size: int) -> str:
        """Draw the number."""
        self._size_now = size
        self._number = stream(self.name, seed, size).randint(1, size)
        self._left = size.bit_length()
        return f"Find the number from 1 to {size} in {self._left} guesses. Answer with one number each time."

    def solution(self) -> str:
        """Return the number."""
        return str(self._number)

    def step(self, message: Message) -> Observation:
        """Take the last number in the reply."""
        said = _NUMBER.findall(message.get("content") or "")
        self._left -= 1
        over = self._left == 0
        number = int(said[-1]) if said and len(said[-1]) <= 6 else 0
        if number == self._number:
            return Observation("That is the number.", FOUND, done=True)
        if not 1 <= number <= self._size_now:
            return Observation(f"Say a number from 1 to {self._size_now}.{self._rest()}", NONSENSE, done=over)
        word = "Higher" if number < self._number else "Lower"
        return Observation(f"{word} than {number}.{self._rest()}", done=over)

    def _rest(self) -> str:
        return f" Guesses left: {self._left}."
