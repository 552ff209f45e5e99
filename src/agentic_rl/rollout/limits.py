"""What a rollout may use, and how it samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from agentic_rl.agents.errors import PromptTooLongError
from agentic_rl.agents.task import Task
from agentic_rl.rollout.engines.base import SamplingParams

Truncation = Literal["error", "left", "right", "middle"]
_OF_A_CALL = frozenset({"max_tokens", "temperature", "top_k", "top_p", "min_p", "seed", "stop_token_ids"})
_SEEDS_OF_A_TASK = 0x9E3779B97F4A7C15
"""An odd number that spreads the seeds of tasks far apart, so that turn 1 of one is not turn 0 of the next."""


@dataclass(frozen=True)
class Limits:
    """The settings that every rollout of a driver shares; the names are the configuration's."""

    max_prompt_length: int
    """Tokens of the first prompt."""
    max_response_length: int
    """Tokens after the prompt, in all turns together, those of tools included."""
    max_tokens: int
    """New tokens of one turn."""
    max_steps: int
    """Turns of the policy."""
    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0
    min_p: float = 0.0
    turn_timeout: float = 600.0
    """Seconds of one model call or one tool call."""
    trajectory_timeout: float = 7200.0
    """Seconds of one rollout."""
    truncation: Truncation = "error"
    """What becomes of a first prompt that is too long: refuse it, or keep its end, its beginning, or both."""

    def sampling(
        self, task: Task, turn: int, room: int, stop_ids: tuple[int, ...], asked: dict[str, Any]
    ) -> SamplingParams:
        """Return how to sample one turn.

        Args:
            task: gives the seed, and whether to take the most probable tokens.
            turn: the turn's number in its rollout, from 0.
            room: tokens that are left for it.
            stop_ids: the tokens that end it.
            asked: what the agent asked for in this call; `stop_token_ids` come in addition, and what is None does
                not count.

        Raises:
            TypeError: the agent asked for something that can't be chosen for a call.
        """
        if not asked.keys() <= _OF_A_CALL:
            unknown = ", ".join(sorted(asked.keys() - _OF_A_CALL))
            raise TypeError(f"chat() does not know {unknown}; a call may choose {', '.join(sorted(_OF_A_CALL))}")
        if asked:
            asked = {name: value for name, value in asked.items() if value is not None}
        params = SamplingParams(
            max_tokens=min(asked.get("max_tokens", self.max_tokens), self.max_tokens, room),
            temperature=0.0 if task.greedy else asked.get("temperature", self.temperature),
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            stop_token_ids=stop_ids,
            seed=(asked.get("seed", task.seed) * _SEEDS_OF_A_TASK + turn) % 2**63,
        )
        others: dict[str, Any] = {name: asked[name] for name in ("top_k", "top_p", "min_p") if name in asked}
        if "stop_token_ids" in asked:
            others["stop_token_ids"] = tuple({*stop_ids, *asked["stop_token_ids"]})
        return replace(params, **others) if others else params

    def fitted(self, prompt: Sequence[int], task: Task) -> Sequence[int]:
        """Return the first prompt, cut to `max_prompt_length` tokens as `truncation` says.

        Raises:
            PromptTooLongError: it is longer, and `truncation` is `error`.
        """
        limit = self.max_prompt_length
        if len(prompt) <= limit:
            return prompt
        if self.truncation == "left":
            return list(prompt[-limit:])
        if self.truncation == "right":
            return list(prompt[:limit])
        if self.truncation == "middle":
            half = limit // 2
            return [*prompt[:half], *prompt[half - limit :]]
        where = f"prompt {task.idx}" + (f" of {task.data_source}" if task.data_source else "")
        raise PromptTooLongError(
            f"{where} ({_beginning(task)!r}) has {len(prompt)} tokens, max_prompt_length is {limit}; raise "
            "max_prompt_length, drop the row, or set truncation to left, right or middle"
        )


def _beginning(task: Task) -> str:
    text = str(task.prompt[-1].get("content")) if task.prompt else ""
    return text if len(text) <= 60 else f"{text[:60]}..."
