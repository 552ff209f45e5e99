"""What a rollout leaves: token-exact trajectories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from agentic_rl.agents.task import Message

if TYPE_CHECKING:
    from torch import Tensor

    Tokens = Sequence[int] | Tensor

FinishReason = Literal["done", "length", "max_steps", "timeout", "error"]
"""Why a rollout ended: `length` means that the token budget ended it, `max_steps` the number of turns."""


@dataclass
class Step:
    """One turn of a trajectory: what the policy was shown, what it wrote, what it earned.

    The fields after `reward` are those that existing step-level agents fill; nothing here reads them.
    """

    prompt_tokens: Tokens = ()
    """All tokens that the policy was shown in this turn, the earlier turns included. Shape (tokens,)."""
    response_tokens: Tokens = ()
    """The tokens that the policy wrote in this turn. Shape (tokens,)."""
    response_logprobs: Sequence[float] = ()
    reward: float = 0.0
    chat_completions: list[Message] = field(default_factory=list)
    thought: str = ""
    action: Any = None
    observation: Any = None
    model_response: str = ""
    info: dict[str, Any] = field(default_factory=dict)
    done: bool = False
    mc_return: float = 0.0


@dataclass
class Segment:
    """One token-exact sequence of a trajectory, with the names and meanings of the trajectory's own fields."""

    prompt_tokens: Tokens
    response_tokens: Tokens
    response_masks: Tokens
    response_logprobs: Sequence[float] = ()


@dataclass
class Trajectory:
    """One rollout. Tokens that the policy wrote are kept as sampled, never re-tokenized."""

    prompt_tokens: Tokens
    """The tokens before the policy's first one. Shape (prompt,)."""
    response_tokens: Tokens
    """Everything after them: the policy's tokens and, between turns, what tools and template added.
    Shape (response,)."""
    response_masks: Tokens
    """1 where the policy wrote the token, 0 where it was shown it. Shape (response,)."""
    idx: int = 0
    """The prompt's number in its batch (the group)."""
    trajectory_reward: float = 0.0
    chat_completions: list[Message] = field(default_factory=list)
    """The conversation as messages, for people to read."""
    metrics: dict[str, Any] = field(default_factory=dict)
    response_logprobs: Sequence[float] = ()
    """Log-probabilities at the sampling temperature, 0.0 where the mask is 0. Shape (response,); empty:
    unknown."""
    steps: list[Step] = field(default_factory=list)
    finish_reason: FinishReason = "done"
    error: str = ""
    """Why the rollout failed; empty when it did not. A failed one is left out of its group's statistics."""
    segments: list[Segment] = field(default_factory=list)
    """All sequences, where one can't hold what the policy saw: it was asked twice at one place, or its history was
    rewritten. The trajectory's own tokens are then those of the last. Empty: the trajectory is the only one."""

    def parts(self) -> list[Segment]:
        """Return the sequences to learn from, at least one. Each token that the policy wrote is 1 in one mask only."""
        return self.segments or [
            Segment(self.prompt_tokens, self.response_tokens, self.response_masks, self.response_logprobs)
        ]


@dataclass
class StepTrajectory(Trajectory):
    """A trajectory as a list of steps (the form of step-level agents)."""

    prompt_tokens: Tokens = ()
    response_tokens: Tokens = ()
    response_masks: Tokens = ()
    task: Any = None


def token_list(tokens: Tokens) -> list[int]:
    """Return tokens, or a mask of them, as plain numbers."""
    return list(tokens) if isinstance(tokens, Sequence) else [int(token) for token in tokens.tolist()]
