"""Rows in verl's layout, made from questions and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentic_rl.agents.builtin.search_r1 import INSTRUCTION as SEARCH
from agentic_rl.agents.task import Message
from agentic_rl.data.answers import math_answer, search_answers

Record = dict[str, Any]
MATH = r"Reason step by step, and put your final answer into \boxed{}."
INSTRUCTIONS: Mapping[str, str] = {"math": f"{{question}}\n\n{MATH}", "search": f"{SEARCH}\n\nQuestion: {{question}}"}
"""What a question becomes, unless the user says otherwise."""
TRUTHS: Mapping[str, Callable[[Any], Any]] = {
    "math": math_answer,
    "search": lambda value: {"target": search_answers(value)},
}
"""What an answer becomes; that of search is the form of verl's own search data."""


class QuestionError(ValueError):
    """A question that can't be a prompt; the message continues `the question ...`."""


def messages_of(question: Any, template: str, system: str | None) -> list[Message]:
    """The prompt: text is put into the template; a list of messages stays as it is, below the system prompt.

    Raises:
        QuestionError: it is empty or neither.
    """
    if isinstance(question, str):
        if not question.strip():
            raise QuestionError("is empty")
        messages: list[Message] = [{"role": "user", "content": template.replace("{question}", question.strip())}]
    elif isinstance(question, list) and question:
        messages = [_message(one) for one in question]
    else:
        raise QuestionError("is missing or empty" if question in (None, []) else f"is a {type(question).__name__}")
    if system and messages[0]["role"] != "system":
        messages.insert(0, {"role": "system", "content": system})
    return messages


def _message(value: Any) -> Message:
    if not isinstance(value, Mapping):
        raise QuestionError(f"is a list with a {type(value).__name__} in it, not chat messages")
    role, content = value.get("role"), value.get("content")
    if not isinstance(role, str) or not isinstance(content, str) or not content.strip():
        raise QuestionError("has a message without a role or without content")
    return {"role": role, "content": content}


def record(
    kind: str, messages: list[Message], truth: Any, *, source: str, ability: str, extra: Mapping[str, Any]
) -> Record:
    """One row; `kind` is what `data_source` falls back to."""
    return {
        "data_source": source or kind,
        "prompt": messages,
        "ability": ability,
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": dict(extra),
    }
