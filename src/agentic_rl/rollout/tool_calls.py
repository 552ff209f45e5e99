"""Tool calls in the text of a reply: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>` (hermes, Qwen)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

OPEN, CLOSE = "<tool_call>", "</tool_call>"
_CALL = re.compile(re.escape(OPEN) + r"(.*?)(?:" + re.escape(CLOSE) + r"|\Z)", re.DOTALL)
_SHOWN = 200
"""Characters of a malformed call that its error message quotes."""


@dataclass(frozen=True)
class ParsedCall:
    """One call as the policy wrote it."""

    name: str
    arguments: str
    """JSON text of an object; of a malformed call, what stood between the tags."""
    error: str = ""
    """Why the call can't be made; empty when it can."""


def parse_tool_calls(text: str) -> tuple[str, list[ParsedCall]]:
    """Split a reply into the text outside its calls and the calls, malformed ones included, in their order."""
    if OPEN not in text:
        return text, []
    calls = [_parsed(match) for match in _CALL.finditer(text)]
    return _CALL.sub("", text).strip(), calls


def _parsed(match: re.Match[str]) -> ParsedCall:
    body = match[1].strip()
    if not match[0].endswith(CLOSE):
        return _malformed(body, f"{CLOSE} is missing")
    try:
        call = json.loads(body)
    except (ValueError, RecursionError) as error:
        return _malformed(body, f"not JSON ({error})")
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        return _malformed(body, 'not an object with a "name"')
    arguments = call.get("arguments", {})
    if not isinstance(arguments, dict):
        return _malformed(body, '"arguments" is not an object')
    return ParsedCall(call["name"], json.dumps(arguments, ensure_ascii=False))


def _malformed(body: str, why: str) -> ParsedCall:
    shown = body if len(body) <= _SHOWN else f"{body[:_SHOWN]}..."
    form = f'{OPEN}{{"name": ..., "arguments": {{...}}}}{CLOSE}'
    return ParsedCall("", body, f"the tool call {shown!r} can't be read: {why}; write {form}")


def as_openai(call: ParsedCall, call_id: str) -> dict[str, Any]:
    """Give a call the form it has in a message; `error` is there only for a malformed one."""
    message = {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    return {**message, "error": call.error} if call.error else message
