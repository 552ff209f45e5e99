"""`MemoryConfig` and `MemorySummary`: the conversation memory that existing agent files import."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from agentic_rl.agents.task import Message

_THOUGHTS = re.compile(r"<think>.*?</think>\s*", re.DOTALL)


@dataclass
class MemoryConfig:
    """Settings of a conversation memory."""

    simplify_thinking: bool = False
    """Leave `<think>` blocks out of what the policy is shown again."""
    use_summary: bool = False
    max_summary_length: int = 1024
    """Tokens."""
    max_prompt_length: int = 8192
    """Tokens."""
    before_raw_message: int = 0
    """Messages at the start that stay as they are."""
    end_raw_message: int = 0
    """Messages at the end that stay as they are, as a negative number."""
    summary_system_prompt: str = ""
    oai_client: Any = None
    oai_model_name: str = ""
    train_model_tokenizer_path: str = ""

    def update(self, config: Mapping[str, Any] | None = None) -> None:
        """Set the fields that `config` names (hyphens may stand for underscores); other keys are left alone."""
        known = {field.name for field in fields(self)}
        for key, value in (config or {}).items():
            name = key.replace("-", "_")
            if name in known:
                setattr(self, name, value)


class MemorySummary:
    """Keeps a conversation. Summaries need a client of one's own: subclass it and override the last method."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.config = MemoryConfig()
        self.config.update(config)
        self._messages: list[Message] = []

    def update_config(self, config: Mapping[str, Any] | None = None) -> None:
        """Set the fields of the settings that `config` names."""
        self.config.update(config)

    def add_message(self, message: Message | Sequence[Message]) -> None:
        """Append a message, or several."""
        self._messages += [message] if isinstance(message, dict) else message

    def get_messages(self) -> list[Message]:
        """Return all messages as they were added."""
        return list(self._messages)

    def clear(self) -> None:
        """Forget all messages."""
        self._messages.clear()

    def clear_memory(self, role: str | None = None, content: str | None = None) -> None:
        """Forget all messages; with a `role`, begin with a message of it."""
        self.clear()
        if role is not None:
            self.add_message({"role": role, "content": content})

    def get_window_messages(self, limit_size: int = -1) -> list[Message]:
        """Return the newest `limit_size` messages; a negative number: all."""
        return self.get_messages()[max(0, len(self._messages) - limit_size) if limit_size >= 0 else 0 :]

    def get_prompt_messages(self, config: Mapping[str, Any] | None = None) -> list[Message]:
        """Return the messages to show to the policy.

        Raises:
            NotImplementedError: `use_summary` is set.
        """
        self.config.update(config)
        if self.config.use_summary:
            raise NotImplementedError("use_summary: this memory writes no summaries; override get_prompt_messages")
        if not self.config.simplify_thinking:
            return self.get_messages()
        first, last = self.config.before_raw_message, len(self._messages) + self.config.end_raw_message
        return [
            _without_thoughts(message) if first <= index < last else message
            for index, message in enumerate(self._messages)
        ]


def _without_thoughts(message: Message) -> Message:
    if message.get("role") != "assistant" or not isinstance(message.get("content"), str):
        return message
    return {**message, "content": _THOUGHTS.sub("", message["content"])}
