"""Stop strings, which may begin and end within tokens."""

from __future__ import annotations

from collections.abc import Sequence

from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.engines.base import Completion


def text_before_stop(text: str, stop: Sequence[str]) -> str:
    """Return what clients see of a text: all before the first stop string."""
    ends = [text.index(one) for one in stop if one in text]
    return text[: min(ends)] if ends else text


def cut_at_stop(completion: Completion, stop: Sequence[str], chat_format: ChatFormat) -> Completion:
    """End a completion with the token that completes a stop string: a prefix of what was sampled is a sample, too."""

    def stopped(length: int) -> bool:
        text = chat_format.text(completion.tokens[:length])
        return any(one in text for one in stop)

    low, high = 0, len(completion.tokens)
    if not stop or not stopped(high):
        return completion
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if stopped(middle) else (middle, high)
    return Completion(completion.tokens[:high], completion.logprobs[:high], "stop")
