"""How long prompts are, in tokens of a model with its chat template, or in characters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentic_rl.agents.task import Message

Count = Callable[[Sequence[Message]], int]


class TokenizerError(Exception):
    """A folder holds no tokenizer that can count; the message says why."""


@dataclass(frozen=True)
class Lengths:
    """Of all prompts that could be counted."""

    unit: str
    shortest: int
    median: int
    most: int
    """95 of 100 prompts are at most that long."""
    longest: int

    @classmethod
    def of(cls, unit: str, counts: Sequence[int]) -> Lengths | None:
        """Summarize counts; None of none."""
        if not counts:
            return None
        ordered = sorted(counts)
        middle, most = ordered[len(ordered) // 2], ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]
        return cls(unit, ordered[0], middle, most, ordered[-1])


def characters(messages: Sequence[Message]) -> int:
    """The characters of all messages together."""
    return sum(len(str(message.get("content") or "")) for message in messages)


def tokens_of(folder: Path) -> Count:
    """Make a function that counts tokens as a rollout without tools sees them, the template's included.

    Raises:
        TokenizerError: transformers is not installed, or the folder has no tokenizer with a chat template.
    """
    try:
        from transformers import AutoTokenizer

        tokenizer: Any = AutoTokenizer.from_pretrained(str(folder), local_files_only=True)
    except ImportError as error:
        raise TokenizerError(f"counting tokens needs {error.name}; pip install 'agentic-rl[local]'") from None
    except Exception as error:  # whatever the files make of it
        reason = str(error).strip().partition("\n")[0]
        raise TokenizerError(f"{folder} has no tokenizer that can be loaded: {reason}") from None
    if not tokenizer.chat_template:
        raise TokenizerError(f"the tokenizer in {folder} has no chat template, so prompts can't be put into tokens")

    def count(messages: Sequence[Message]) -> int:
        return len(tokenizer.apply_chat_template(list(messages), add_generation_prompt=True, return_dict=False))

    return count
