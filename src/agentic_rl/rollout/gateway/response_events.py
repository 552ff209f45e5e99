"""The events in which `/v1/responses` streams an answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from agentic_rl.rollout.gateway.ask import Ask
from agentic_rl.rollout.gateway.chat import Json

_NOTHING_YET: Json = {"status": "in_progress", "incomplete_details": None, "output": [], "usage": None}


def events(ask: Ask, whole: Json) -> Iterator[Json]:
    """Return an answer as events."""
    del ask  # the answer says it all; the streams of the other APIs need it
    numbers = count()
    for event in _events(whole):
        yield {**event, "sequence_number": next(numbers)}


def _events(whole: Json) -> Iterator[Json]:
    begun = {**whole, **_NOTHING_YET}
    yield {"type": "response.created", "response": begun}
    yield {"type": "response.in_progress", "response": begun}
    for place, item in enumerate(whole["output"]):
        parts = _text_events if item["type"] == "message" else _call_events
        empty: Json = {"content": []} if item["type"] == "message" else {"arguments": ""}
        added = {**item, "status": "in_progress", **empty}
        yield {"type": "response.output_item.added", "output_index": place, "item": added}
        yield from ({**event, "output_index": place, "item_id": item["id"]} for event in parts(item))
        yield {"type": "response.output_item.done", "output_index": place, "item": item}
    yield {"type": f"response.{whole['status']}", "response": whole}


def _text_events(item: Json) -> Iterator[Json]:
    for place, part in enumerate(item["content"]):
        at = {"content_index": place}
        logprobs = part["logprobs"]
        yield {"type": "response.content_part.added", **at, "part": {**part, "text": "", "logprobs": []}}
        yield {"type": "response.output_text.delta", **at, "delta": part["text"], "logprobs": logprobs}
        yield {"type": "response.output_text.done", **at, "text": part["text"], "logprobs": logprobs}
        yield {"type": "response.content_part.done", **at, "part": part}


def _call_events(item: Json) -> Iterator[Json]:
    arguments = item["arguments"]
    yield {"type": "response.function_call_arguments.delta", "delta": arguments}
    yield {"type": "response.function_call_arguments.done", "arguments": arguments, "name": item["name"]}
