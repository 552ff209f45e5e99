"""Calls of tools as the policy wrote them, and the form that they have in messages."""

from __future__ import annotations

from typing import Any, NamedTuple

_THOUGHT_BEGINS, _THOUGHT_ENDS = "<think>", "</think>"


class ParsedCall(NamedTuple):
    """One call as the policy wrote it."""

    name: str
    arguments: str
    """JSON text of an object; of a malformed call, what was written."""
    error: str = ""
    """Why the call can't be made; empty when it can."""


def as_openai(call: ParsedCall, call_id: str) -> dict[str, Any]:
    """Give a call the form it has in a message; `error` is there only for a malformed one."""
    message = {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    return {**message, "error": call.error} if call.error else message


def without_thoughts(text: str) -> tuple[str, str]:
    """Split a reply into its thoughts, tags included, and the rest: a call in a thought is none."""
    if "think>" not in text:
        return "", text
    if _THOUGHT_ENDS in text:
        thoughts, tag, rest = text.partition(_THOUGHT_ENDS)
        return thoughts + tag, rest
    return (text, "") if text.lstrip().startswith(_THOUGHT_BEGINS) else ("", text)
