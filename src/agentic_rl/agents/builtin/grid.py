"""`grid`: a walk to a goal, around walls, seen as text."""

from __future__ import annotations

import re
from collections import deque
from itertools import product
from typing import ClassVar

from agentic_rl.agents.builtin.game import Game, stream
from agentic_rl.agents.environment import Observation
from agentic_rl.agents.task import Message

Place = tuple[int, int]
MOVES: dict[str, Place] = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
RULES = "Walk to the goal. Answer with one word each time: up, down, left or right."
GOAL, STEP, BUMP = 1.0, -0.02, -0.05
"""What reaching the goal earns, what every step costs, and what a step costs that leads nowhere."""
WALLS = 0.2
"""Share of the places with a wall, where the goal can still be reached."""

_WORD = re.compile(r"\b(up|down|left|right)\b", re.IGNORECASE)


class Grid(Game):
    """A square of `size` by `size` places. The walk ends after twice the shortest way and four steps."""

    name = "grid"
    sizes: ClassVar[range] = range(2, 13)
    size: ClassVar[int] = 4

    def begin(self, seed: int, size: int) -> str:
        """Draw walls, start and goal until the goal can be reached."""
        random = stream(self.name, seed, size)
        self._side = size
        places = list(product(range(size), range(size)))
        while True:
            self._walls = {place for place in places if random.random() < WALLS}
            self.place, self.goal = random.sample(places, 2)
            self._walls -= {self.place, self.goal}
            distance = self.distance(self.place)
            if distance is not None:
                break
        self._shortest = distance
        self._left = 2 * distance + 4
        return f"{RULES}\n{self._map()}\n{self._look()}"

    def solution(self) -> str:
        """Return the number of steps of the shortest way."""
        return str(self._shortest)

    def distance(self, start: Place) -> int | None:
        """The steps of the shortest way from a place to the goal; None: there is none."""
        seen, waiting = {start: 0}, deque([start])
        while waiting:
            place = waiting.popleft()
            if place == self.goal:
                return seen[place]
            for move in MOVES:
                following = self.after(place, move)
                if following is not None and following not in seen:
                    seen[following] = seen[place] + 1
                    waiting.append(following)
        return None

    def after(self, place: Place, move: str) -> Place | None:
        """The place that a move leads to; None where a wall or the edge is in the way."""
        row, column = place[0] + MOVES[move][0], place[1] + MOVES[move][1]
        inside = 0 <= row < self._side and 0 <= column < self._side
        return (row, column) if inside and (row, column) not in self._walls else None

    def step(self, message: Message) -> Observation:
        """Take the last of the four words in the reply."""
        said = _WORD.findall(message.get("content") or "")
        self._left -= 1
        following = self.after(self.place, said[-1].lower()) if said else None
        if following is not None:
            self.place = following
        if self.place == self.goal:
            return Observation("You are at the goal.", GOAL + STEP, done=True)
        told = "" if following is not None else "There is no way. " if said else "Say up, down, left or right. "
        return Observation(told + self._look(), STEP if following is not None else BUMP, done=self._left == 0)

    def _look(self) -> str:
        down, right = self.goal[0] - self.place[0], self.goal[1] - self.place[1]
        ways = [(down, "down"), (-down, "up"), (right, "right"), (-right, "left")]
        goal = " and ".join(f"{steps} {way}" for steps, way in ways if steps > 0)
        free = " ".join(move for move in MOVES if self.after(self.place, move) is not None)
        return f"The goal is {goal}. Free: {free}."

    def _map(self) -> str:
        """A line for each row: Y is you, G the goal, # a wall."""
        signs = dict.fromkeys(self._walls, "#") | {self.place: "Y", self.goal: "G"}
        return "\n".join(
            " ".join(signs.get((row, column), ".") for column in range(self._side)) for row in range(self._side)
        )
