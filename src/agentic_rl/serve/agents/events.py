"""The events of a run, in the shapes of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentic_rl.agents.trajectory import Trajectory
from agentic_rl.serve.answers import event

RAW, ITEM, RESULT = "raw_response_event", "run_item_stream_event", "run_result"
Json = dict[str, Any]


def text_delta(turn: int, delta: str) -> bytes:
    """Text that the policy has just written, calls of tools included as it writes them."""
    return _raw("response.output_text.delta", item_id=f"msg_{turn}", output_index=0, content_index=0, delta=delta)


def turn_began(turn: int) -> bytes:
    """The policy is asked."""
    return _raw("response.created", response={"id": f"resp_{turn}", "object": "response", "status": "in_progress"})


def turn_ended(turn: int, prompt: int, written: int, finish_reason: str) -> bytes:
    """The policy has ended a turn; numbers of tokens."""
    usage = {"input_tokens": prompt, "output_tokens": written, "total_tokens": prompt + written}
    whole = finish_reason != "length"
    response = {"id": f"resp_{turn}", "object": "response", "status": "completed" if whole else "incomplete"}
    return _raw("response.completed" if whole else "response.incomplete", response={**response, "usage": usage})


def message_output_created(turn: int, text: str) -> bytes:
    """A message of the policy."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    raw = {"id": f"msg_{turn}", "type": "message", "role": "assistant", "status": "completed", "content": content}
    return _item("message_output_created", {"type": "message_output_item", "raw_item": raw})


def tool_called(call: Mapping[str, Any]) -> bytes:
    """A call of a tool, from a message in OpenAI's form."""
    function = call.get("function") or {}
    raw: Json = {
        "type": "function_call",
        "call_id": call.get("id", ""),
        "name": function.get("name", ""),
        "arguments": function.get("arguments", ""),
        "status": "incomplete" if call.get("error") else "completed",
    }
    if call.get("error"):
        raw["error"] = str(call["error"])
    return _item("tool_called", {"type": "tool_call_item", "raw_item": raw})


def tool_output(message: Mapping[str, Any]) -> bytes:
    """What a tool gave, from a message in OpenAI's form."""
    output = message.get("content")
    raw = {"type": "function_call_output", "call_id": message.get("tool_call_id", ""), "output": output}
    return _item("tool_output", {"type": "tool_call_output_item", "raw_item": raw, "output": output})


def run_result(trajectory: Trajectory, sample_id: int | str, iteration: int) -> bytes:
    """The end of a run: what it earned, or why it failed."""
    failed = bool(trajectory.error)
    return event(
        RESULT,
        {
            "type": RESULT,
            "sample_id": sample_id,
            "iteration": iteration,
            "reward": None if failed else trajectory.trajectory_reward,
            "finish_reason": trajectory.finish_reason,
            "error": trajectory.error or None,
            "metrics": plain(trajectory.metrics),
        },
    )


def plain(value: Any) -> Any:
    """A value of an agent's as JSON has it; what JSON can't say becomes text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    return str(value)


def _raw(kind: str, **more: Any) -> bytes:
    return event(RAW, {"type": RAW, "data": {"type": kind, **more}})


def _item(name: str, item: Json) -> bytes:
    return event(ITEM, {"type": ITEM, "name": name, "item": plain(item)})
