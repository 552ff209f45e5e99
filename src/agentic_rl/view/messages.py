"""Chat messages as the page shows them: whatever an agent has left there becomes text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """How much of a rollout is shown; None: all."""

    letters: int | None = None
    """Of each text."""
    tokens: int | None = None
    """Of each part's response."""


BRIEF = Limits(letters=3_000, tokens=1_500)
"""In the columns of a group."""
EXPORTED = Limits(letters=20_000, tokens=4_000)
"""In a file that holds many."""


def shown_messages(messages: Any, limits: Limits) -> list[dict[str, Any]]:
    """`role`, `text`, and where there are any `name`, `reasoning` and `calls`; `letters` where a text is cut."""
    return [_message(one, limits) for one in messages] if isinstance(messages, list) else []


def searchable(messages: Any, error: str) -> str:
    """All texts of a conversation, a line each."""
    texts = [error]
    for message in shown_messages(messages, Limits()):
        texts += [message["text"], message.get("reasoning", "")]
        texts += [text for call in message.get("calls", ()) for text in (call["name"], call["arguments"])]
    return "\n".join(filter(None, texts))


def _message(message: Any, limits: Limits) -> dict[str, Any]:
    if not isinstance(message, Mapping):
        return {"role": "?", **_cut(_text(message), limits)}
    shown: dict[str, Any] = {"role": _text(message.get("role")) or "?", **_cut(_text(message.get("content")), limits)}
    for name in ("name", "tool_call_id", "finish_reason"):
        if message.get(name):
            shown[name] = _text(message[name])
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    if reasoning:
        shown["reasoning"] = _text(reasoning)[: limits.letters]
    calls = message.get("tool_calls")
    if isinstance(calls, list) and calls:
        shown["calls"] = [_call(call, limits) for call in calls]
    return shown


def _call(call: Any, limits: Limits) -> dict[str, str]:
    function = call.get("function", call) if isinstance(call, Mapping) else {"arguments": call}
    if not isinstance(function, Mapping):
        function = {"arguments": function}
    return {
        "name": _text(function.get("name")) or "?",
        "arguments": _text(function.get("arguments"))[: limits.letters],
    }


def _text(value: Any) -> str:
    """A content: a text, a list of parts, or nothing."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, Sequence):
        return "\n".join(_part(part) for part in value)
    return json.dumps(value, ensure_ascii=False)


def _part(part: Any) -> str:
    if isinstance(part, Mapping) and isinstance(part.get("text"), str):
        return str(part["text"])
    return part if isinstance(part, str) else json.dumps(part, ensure_ascii=False)


def _cut(text: str, limits: Limits) -> dict[str, Any]:
    if limits.letters is None or len(text) <= limits.letters:
        return {"text": text}
    return {"text": text[: limits.letters], "letters": len(text)}
