"""The events in which `/v1/responses` streams an answer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

Json = dict[str, Any]


class ResponseEvents:
    """Writes the stream of one answer.

    Args:
        begun: the answer before anything is written.
        message: its message before anything is written.
    """

    named = True

    def __init__(self, begun: Json, message: Json) -> None:
        self._begun = begun
        self._message = message
        self._numbers = count()
        self._text = ""
        self._opened = False

    def text(self, place: int, delta: str) -> Iterator[Json]:
        """Return the events for text that is added; there is one answer."""
        del place
        if not self._opened:
            yield from self._numbered(self._opening())
            yield from self._numbered(self._message_begins())
        self._text += delta
        yield from self._numbered([self._delta(delta)])

    def end(self, whole: Json) -> Iterator[Json]:
        """Return the events for what is left of the answer."""
        whole = {**whole, "created_at": self._begun["created_at"]}
        if not self._opened:
            yield from self._numbered(self._opening())
        for place, item in enumerate(whole["output"]):
            events = self._message_events(item) if item["type"] == "message" else _call_events(item)
            yield from self._numbered({"output_index": place, **event} for event in events)
            done = {"type": "response.output_item.done", "output_index": place, "item": item}
            yield from self._numbered([done])
        yield from self._numbered([{"type": f"response.{whole['status']}", "response": whole}])

    def _numbered(self, events: Any) -> Iterator[Json]:
        for event in events:
            yield {**event, "sequence_number": next(self._numbers)}

    def _opening(self) -> Iterator[Json]:
        self._opened = True
        yield {"type": "response.created", "response": self._begun}
        yield {"type": "response.in_progress", "response": self._begun}

    def _message_begins(self) -> Iterator[Json]:
        part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
        yield {"type": "response.output_item.added", "output_index": 0, "item": self._message}
        yield {"type": "response.content_part.added", **self._place, "part": part}

    def _delta(self, delta: str) -> Json:
        return {"type": "response.output_text.delta", **self._place, "delta": delta, "logprobs": []}

    def _message_events(self, item: Json) -> Iterator[Json]:
        """Return what is left of the message, whose log-probabilities come with its whole text."""
        part = item["content"][0]
        if not self._text:
            yield from self._message_begins()
        if len(part["text"]) > len(self._text):
            yield self._delta(part["text"][len(self._text) :])
        done = {"text": part["text"], "logprobs": part["logprobs"]}
        yield {"type": "response.output_text.done", **self._place, **done}
        yield {"type": "response.content_part.done", **self._place, "part": part}

    @property
    def _place(self) -> Json:
        return {"output_index": 0, "content_index": 0, "item_id": self._message["id"]}


def _call_events(item: Json) -> Iterator[Json]:
    arguments, at = item["arguments"], {"item_id": item["id"]}
    yield {"type": "response.output_item.added", "item": {**item, "status": "in_progress", "arguments": ""}}
    yield {"type": "response.function_call_arguments.delta", **at, "delta": arguments}
    yield {"type": "response.function_call_arguments.done", **at, "arguments": arguments, "name": item["name"]}
