"""Answers whose parts are sent while the policy writes them, as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import Any, Protocol

from agentic_rl.rollout.gateway.ask import Choice, OnText
from agentic_rl.rollout.gateway.faults import api_error

Json = dict[str, Any]


class EventForm(Protocol):
    """How one of the APIs writes a stream."""

    named: bool
    """Whether events have names, and the last one ends the stream; else `[DONE]` does."""

    def text(self, place: int, delta: str) -> Iterable[Json]:
        """Return the events for text that is added to an answer."""
        ...

    def end(self, whole: Json) -> Iterable[Json]:
        """Return the events for the rest of the whole answer."""
        ...


class AnswerEvents:
    """What a policy writes, as the bytes of a stream.

    A call that fails before there is any text is an error like that of a call without a stream; later it is the last
    event.

    Args:
        form: of the events.
        written: makes the whole answer of the policy's.
        answering: lets the policy answer.
    """

    def __init__(
        self,
        form: EventForm,
        written: Callable[[list[Choice]], Json],
        answering: Callable[[OnText], Coroutine[Any, Any, list[Choice]]],
    ) -> None:
        self._form = form
        self._written = written
        self._texts: list[tuple[int, str]] = []
        self._news = asyncio.Event()
        self._work = asyncio.ensure_future(answering(self._tell))
        self._work.add_done_callback(lambda work: self._news.set())

    def _tell(self, place: int, delta: str) -> None:
        self._texts.append((place, delta))
        self._news.set()

    async def begin(self) -> None:
        """Return when there is something to send.

        Raises:
            Exception: of the policy, when there is nothing.
        """
        try:
            await self._news.wait()
            if self._work.done() and not self._texts:
                self._work.result()
        except BaseException:
            self.close()
            raise

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Give the events as they come, those that wait together in one piece."""
        while not self._work.done():
            if self._texts:
                yield self._waiting()
            await self._news.wait()
            self._news.clear()
        try:
            yield self._waiting() + self._end(self._work.result())
        except Exception as error:
            yield self._failed(error)

    def close(self) -> None:
        """End the policy's work, if it still writes: nobody reads on."""
        self._work.cancel()

    def _waiting(self) -> bytes:
        texts, self._texts = self._texts, []
        self._news.clear()
        return b"".join(self._event(event) for place, delta in texts for event in self._form.text(place, delta))

    def _end(self, choices: list[Choice]) -> bytes:
        last = b"" if self._form.named else b"data: [DONE]\n\n"
        return b"".join(map(self._event, self._form.end(self._written(choices)))) + last

    def _failed(self, error: Exception) -> bytes:
        body = api_error(error).body()
        return self._event({**body["error"], **body, "type": "error"} if self._form.named else body)

    def _event(self, event: Json) -> bytes:
        name = f"event: {event['type']}\n" if self._form.named else ""
        return f"{name}data: {json.dumps(event)}\n\n".encode()
