"""Step-level trajectories of existing wrappers: steps with conversations, in place of tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agentic_rl.agents.errors import TrajectoryFieldError
from agentic_rl.agents.trajectory import Segment
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.engines.base import Completion

Answers = Callable[[Sequence[int]], Sequence[Completion]]
"""What the engine answered to a prompt."""


def segments_of(steps: Sequence[Any], chat_format: ChatFormat, answers: Answers) -> list[Segment]:
    """Return one segment for each step: the conversation that the policy was shown, and what it wrote.

    What it wrote is the engine's own answer, token by token, where the step's text is that of an answer to this very
    prompt; otherwise the text is tokenized, and its log-probabilities are unknown.

    Raises:
        TrajectoryFieldError: a step has no conversation; the message has its place.
    """
    return [_segment(step, place, chat_format, answers) for place, step in enumerate(steps)]


def _segment(step: Any, place: int, chat_format: ChatFormat, answers: Answers) -> Segment:
    messages = list(getattr(step, "chat_completions", None) or [])
    text = str(getattr(step, "model_response", "") or "")
    if messages and messages[-1].get("role") == "assistant":
        text = text or str(messages[-1].get("content") or "")
        messages = messages[:-1]
    if not messages or not text:
        lacking = "model_response" if messages else "chat_completions"
        raise TrajectoryFieldError(f"steps[{place}] has no {lacking}, and the trajectory no tokens")
    prompt = list(chat_format.initial_ids(messages))
    for answer in answers(prompt):
        if chat_format.text(answer.tokens).strip() == text.strip():
            return Segment(prompt, list(answer.tokens), [1] * len(answer.tokens), list(answer.logprobs))
    response = [*chat_format.tokenizer.encode(text, add_special_tokens=False), chat_format.end_of_turn]
    return Segment(prompt, response, [1] * len(response))
