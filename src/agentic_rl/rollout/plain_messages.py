"""Messages in the form that chat templates take, also those that know nothing of tools."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.agents.task import Message
from agentic_rl.rollout.call_formats.base import CallFormat


def content_text(content: Any) -> Any:
    """Return content as one text; content with other parts than text as it is."""
    if content is None:
        return ""
    if isinstance(content, (list, tuple)) and all(isinstance(part, Mapping) and "text" in part for part in content):
        return "".join(str(part["text"]) for part in content)
    return content


def for_template(message: Message) -> Message:
    """Return a message with its content as text, and the arguments of its calls as objects.

    Templates print the arguments as JSON, so text that holds JSON already would be quoted twice.
    """
    content = message.get("content")
    if not isinstance(content, str):
        message = {**message, "content": content_text(content)}
    if not message.get("tool_calls"):
        return message
    return {**message, "tool_calls": [_with_object(call) for call in message["tool_calls"]]}


def calls_as_text(message: Message, call_format: CallFormat) -> Message:
    """Return a message whose calls are part of its content, as a policy writes them."""
    calls = message.get("tool_calls")
    if not calls:
        return message
    functions = [call.get("function", call) for call in calls]
    text = call_format.write([(function.get("name"), function.get("arguments", {})) for function in functions])
    kept = {key: value for key, value in message.items() if key != "tool_calls"}
    return {**kept, "content": f"{message['content']}\n{text}" if message["content"] else text}


def with_tools_described(
    messages: Sequence[Message], schemas: Sequence[Mapping[str, Any]], call_format: CallFormat
) -> list[Message]:
    """Return messages whose system message says which tools there are and how they are called."""
    lines = "\n".join(json.dumps(schema, ensure_ascii=False) for schema in schemas)
    text = f"# Tools\n\nYou may call these functions, each described as JSON:\n{lines}\n\nA call: {call_format.form}"
    if messages and messages[0].get("role") == "system":
        first = {**messages[0], "content": f"{messages[0]['content']}\n\n{text}"}
        return [first, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]


def _with_object(call: Mapping[str, Any]) -> dict[str, Any]:
    function = dict(call.get("function", call))
    if isinstance(function.get("arguments"), str):
        with contextlib.suppress(ValueError, RecursionError):  # a malformed call stays the text that it is
            function["arguments"] = json.loads(function["arguments"])
    return {**call, "function": function}
