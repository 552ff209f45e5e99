"""A task: what an agent is asked, and what the reward needs to judge the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Message = dict[str, Any]
"""A chat message in OpenAI's form: role, content, and tool_calls or tool_call_id where they apply."""


@dataclass(frozen=True)
class Task:
    """One row of a data file in verl's layout, as one rollout sees it."""

    prompt: list[Message]
    ground_truth: Any = None
    """`reward_model.ground_truth` of the row."""
    data_source: str = ""
    extra_info: Mapping[str, Any] = field(default_factory=dict)
    idx: int = 0
    """The prompt's number in its batch; the rollouts of one group share it."""
    sample: int = 0
    """The rollout's number in its group, from 0."""
    seed: int = 0
    """Seeds this rollout's sampling: equal seeds and equal weights give equal tokens."""
    greedy: bool = False
    """Take the most probable token instead of sampling (evaluation)."""


def with_system_prompt(system_prompt: str | None, messages: Sequence[Message]) -> list[Message]:
    """Return `messages` below the system prompt, unless they begin with one of their own or it is None."""
    if system_prompt is None or (messages and messages[0].get("role") == "system"):
        return list(messages)
    return [{"role": "system", "content": system_prompt}, *messages]
