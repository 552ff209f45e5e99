"""`/v1/responses`, as far as agents need it: text and functions, the conversation kept by the client."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from agentic_rl.agents.task import Message
from agentic_rl.rollout.gateway.ask import Ask, Choice, read_model, read_options, refuse_alternatives
from agentic_rl.rollout.gateway.body import Body, shown
from agentic_rl.rollout.gateway.chat import Json
from agentic_rl.rollout.gateway.faults import InvalidError
from agentic_rl.rollout.gateway.messages import chosen, read_call, read_role, read_text, read_tools
from agentic_rl.rollout.gateway.response_events import ResponseEvents
from agentic_rl.rollout.gateway.spelling import Spelling

_LOGPROBS = "message.output_text.logprobs"
_INCLUDABLE = frozenset({_LOGPROBS, "reasoning.encrypted_content"})


def read(body: Body) -> Ask:
    """Read a body.

    Raises:
        InvalidError: it can't be answered as it is.
    """
    for key in ("previous_response_id", "conversation", "prompt"):
        if body.take(key, str, dict) is not None:
            problem = f"{key} names something that is kept on a server; nothing is here, so send the whole conversation"
            raise InvalidError(problem, param=key, code="unsupported_parameter")
    instructions = body.take("instructions", str)
    opening: list[Message] = [] if instructions is None else [{"role": "system", "content": instructions}]
    tools = chosen(body.take("tool_choice", str, dict), read_tools(body.take("tools", list, default=[]), flat=True))
    ask = Ask(
        model=read_model(body),
        stream=bool(body.take("stream", bool, default=False)),
        messages=opening + read_input(body.need("input", str, list)),
        tools=tools,
        options=read_options(body, "max_output_tokens"),
        logprobs=_read_include(body),
    )
    body.take("stream_options", dict)
    _refuse_formats(body.take("text", dict, default={}))
    body.finish()
    return ask


def read_input(items: str | list[Any]) -> list[Message]:
    """Return the messages that the items of a conversation stand for.

    A message of the assistant and the calls after it are one turn of the policy.

    Raises:
        InvalidError: there are none, or an item can't be shown to the policy.
    """
    if isinstance(items, str):
        return [{"role": "user", "content": items}]
    if not items:
        raise InvalidError("input is empty; give at least one item", param="input")
    messages: list[Message] = []
    for place, item in enumerate(items):
        _add(messages, item, f"input[{place}]")
    return messages


def _add(messages: list[Message], item: Any, where: str) -> None:
    kind = item.get("type", "message") if isinstance(item, dict) else None
    last = messages[-1] if messages else {}
    if kind == "message":
        role = read_role(item, where)
        text = read_text(item.get("content"), f"{where}.content")
        messages.append({"role": role, "content": text})
    elif kind == "function_call":
        call = read_call(item.get("call_id"), item, where)
        if last.get("role") != "assistant":
            messages.append({"role": "assistant", "content": ""})
        messages[-1].setdefault("tool_calls", []).append(call)
    elif kind == "function_call_output":
        text = read_text(item.get("output"), f"{where}.output")
        messages.append({"role": "tool", "tool_call_id": str(item.get("call_id", "")), "content": text})
    else:
        problem = f"{where}.type is {shown(kind)}; the policy reads message, function_call and function_call_output"
        raise InvalidError(problem, param=f"{where}.type")


def _read_include(body: Body) -> bool:
    include = body.take("include", list, default=[])
    if not all(isinstance(one, str) and one in _INCLUDABLE for one in include):
        raise InvalidError(f"include is {shown(include)}; only {_LOGPROBS} is known here", param="include")
    refuse_alternatives("top_logprobs", body.take("top_logprobs", int, default=0), most=0)
    return _LOGPROBS in include


def _refuse_formats(text: dict[str, Any]) -> None:
    for key, value in text.items():
        if value is not None and (key, value) != ("format", {"type": "text"}):
            problem = f"text.{key} is {shown(value)}, which the policy can't follow; leave it out"
            raise InvalidError(problem, param=f"text.{key}", code="unsupported_parameter")


def answer(ask: Ask, choices: Sequence[Choice], answer_id: str, spelling: Spelling) -> Json:
    """Return the answer."""
    choice = choices[0]
    cut = choice.finish_reason == "length"
    return {
        **_head(ask, answer_id),
        "status": "incomplete" if cut else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": _items(choice, ask, answer_id, spelling),
        "usage": {
            "input_tokens": len(choice.prompt_ids),
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": len(choice.token_ids),
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": len(choice.prompt_ids) + len(choice.token_ids),
        },
    }


def stream(ask: Ask, answer_id: str) -> ResponseEvents:
    """Return what writes the stream of the answer."""
    return ResponseEvents(_head(ask, answer_id), {**_message(answer_id), "status": "in_progress"})


def _message(answer_id: str, *parts: Json) -> Json:
    message = {"id": f"msg_{answer_id}", "type": "message", "role": "assistant", "status": "completed"}
    return {**message, "content": list(parts)}


def _head(ask: Ask, answer_id: str) -> Json:
    return {
        "id": f"resp_{answer_id}",
        "object": "response",
        "created_at": int(time.time()),
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": ask.model,
        "output": [],
        "parallel_tool_calls": True,
        "temperature": ask.options.get("temperature"),
        "tool_choice": "auto",
        "tools": [{"type": "function", "parameters": None, "strict": None, **tool["function"]} for tool in ask.tools],
        "top_p": ask.options.get("top_p"),
        "text": {"format": {"type": "text"}},
        "truncation": "disabled",
        "usage": None,
    }


def _items(choice: Choice, ask: Ask, answer_id: str, spelling: Spelling) -> list[Json]:
    calls = choice.message.get("tool_calls", ())
    items: list[Json] = []
    if choice.message["content"] or not calls:
        logprobs = spelling.detailed(choice) if ask.logprobs else []
        text = {"type": "output_text", "text": choice.message["content"], "annotations": [], "logprobs": logprobs}
        items.append(_message(answer_id, text))
    for place, call in enumerate(calls):
        items.append(
            {
                "id": f"fc_{answer_id}_{place}",
                "type": "function_call",
                "status": "completed",
                "call_id": call["id"],
                "name": call["function"]["name"],
                "arguments": call["function"]["arguments"],
            }
        )
    return items
