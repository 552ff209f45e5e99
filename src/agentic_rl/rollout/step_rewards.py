"""What the turns of one rollout earned, where its agent or environment says so."""

from __future__ import annotations

import math
from typing import Any


class StepRewards:
    """Notes of rewards by turn, from 0."""

    def __init__(self) -> None:
        self._by_turn: dict[int, float] = {}

    def note(self, turns: int, reward: Any) -> None:
        """Add to what the latest of `turns` turns earned; see `ChatModel.reward_step`."""
        if not turns:
            raise RuntimeError("reward_step() was called before the policy had a turn; call it after chat()")
        try:
            number = float(reward)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise ValueError(f"turn {turns - 1} was given the reward {reward!r}; it must be a finite number")
        self._by_turn[turns - 1] = self._by_turn.get(turns - 1, 0.0) + number

    def by_turn(self) -> list[float]:
        """Return what each turn earned, up to the last one with a note; empty without any."""
        return [self._by_turn.get(turn, 0.0) for turn in range(max(self._by_turn, default=-1) + 1)]
