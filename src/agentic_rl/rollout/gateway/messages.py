"""Messages and tools of clients, brought into the one form that conversations are recorded in."""

from __future__ import annotations

from typing import Any

from agentic_rl.agents.task import Message
from agentic_rl.rollout.gateway.body import shown
from agentic_rl.rollout.gateway.faults import InvalidError

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
_TEXTS = frozenset({"text", "input_text", "output_text"})


def read_messages(values: list[Any]) -> list[Message]:
    """Read the messages of a chat.

    Raises:
        InvalidError: there are none, or one of them can't be shown to the policy.
    """
    if not values:
        raise InvalidError("messages is empty; give at least one", param="messages")
    return [_message(value, f"messages[{place}]") for place, value in enumerate(values)]


def read_role(value: dict[str, Any], where: str) -> str:
    """Return who wrote a message, as chat templates know them."""
    role = value.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        known = ", ".join(_ROLES)
        raise InvalidError(f"{where}.role is {shown(role)}; it must be one of {known}", param=f"{where}.role")
    return _ROLES[role]


def read_text(content: Any, where: str) -> str:
    """Return the text of a message, which may come in parts.

    Raises:
        InvalidError: a part is no text.
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise InvalidError(f"{where} is {shown(content)}; it must be text or a list of parts", param=where)
    texts = []
    for place, part in enumerate(content):
        text = part.get("text") if isinstance(part, dict) and part.get("type") in _TEXTS else None
        if not isinstance(text, str):
            raise InvalidError(f"{where}[{place}] is no text; the policy reads nothing else", param=where)
        texts.append(text)
    return "".join(texts)


def read_call(call_id: Any, function: Any, where: str) -> dict[str, Any]:
    """Return a call of a tool that an assistant's message holds."""
    name, arguments = (
        (function.get(key) for key in ("name", "arguments")) if isinstance(function, dict) else (None,) * 2
    )
    if not isinstance(name, str) or not isinstance(arguments, str):
        raise InvalidError(f"{where} needs a name and arguments, both as text", param=where)
    return {"id": str(call_id), "type": "function", "function": {"name": name, "arguments": arguments}}


def read_tools(values: list[Any], *, flat: bool = False) -> list[dict[str, Any]]:
    """Return descriptions of functions in the form of chat completions.

    `strict` is dropped: nothing here forces the policy to follow a schema.

    Args:
        values: of the body.
        flat: as `/v1/responses` has them, without `function` around.

    Raises:
        InvalidError: one is no function.
    """
    return [_tool(value, f"tools[{place}]", flat) for place, value in enumerate(values)]


def chosen(choice: Any, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the tools that are left by `tool_choice`.

    `required` is what some frameworks always send; it is taken for a wish, since a forced call would be no sample.

    Raises:
        InvalidError: it asks for a certain tool.
    """
    if choice in (None, "auto", "required"):
        return tools
    if choice == "none":
        return []
    problem = f"tool_choice is {shown(choice)}; a call can't be forced on the policy, so give auto or none"
    raise InvalidError(problem, param="tool_choice", code="unsupported_parameter")


def _message(value: Any, where: str) -> Message:
    if not isinstance(value, dict):
        raise InvalidError(f"{where} is {shown(value)}; it must be an object", param=where)
    message: Message = {"role": read_role(value, where), "content": read_text(value.get("content"), f"{where}.content")}
    if message["role"] == "tool":
        message["tool_call_id"] = str(value.get("tool_call_id", ""))
    calls = value.get("tool_calls")
    if calls is not None and not isinstance(calls, list):
        raise InvalidError(f"{where}.tool_calls must be a list", param=f"{where}.tool_calls")
    if calls and message["role"] == "assistant":
        message["tool_calls"] = [
            read_call(call.get("id"), call.get("function"), f"{where}.tool_calls[{place}]")
            if isinstance(call, dict)
            else read_call(None, None, f"{where}.tool_calls[{place}]")
            for place, call in enumerate(calls)
        ]
    return message


def _tool(value: Any, where: str, flat: bool) -> dict[str, Any]:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind != "function":
        raise InvalidError(f"{where}.type is {shown(kind)}; only functions can be called", param=f"{where}.type")
    function = value if flat else value.get("function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidError(f"{where} needs a name", param=where)
    for key, expected in (("description", str), ("parameters", dict)):
        if not isinstance(function.get(key), expected | None):
            raise InvalidError(f"{where}.{key} is {shown(function[key])}", param=f"{where}.{key}")
    kept = {key: function[key] for key in ("name", "description", "parameters") if function.get(key) is not None}
    return {"type": "function", "function": kept}
