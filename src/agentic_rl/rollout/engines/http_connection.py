"""One connection to a server: a request, its answer, and then perhaps the next request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from agentic_rl.rollout.engines.http_faults import ServerFaultError
from agentic_rl.rollout.engines.http_reader import Answer, AnswerReader


class Connection(asyncio.Protocol):
    """Made by `loop.create_connection`."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        """The loop's time at which it became free."""
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._reader: AnswerReader | None = None
        self._answer: asyncio.Future[Answer] | None = None

    @property
    def usable(self) -> bool:
        """Whether it is still open, as far as is known."""
        return self._transport is not None and not self._transport.is_closing()

    async def ask(
        self, request: bytes, limit: int, seconds: float, on_body: Callable[[bytes], None] | None = None
    ) -> Answer:
        """Send a request, and wait for its whole answer. If this fails or is cancelled, the connection is closed.

        `on_body`: see `AnswerReader`; what it raises comes out of here.

        Raises:
            ServerFaultError: no whole answer came within `seconds`, or one of more than `limit` bytes.
        """
        if self._transport is None:
            raise ServerFaultError("the connection has ended")
        self._reader = AnswerReader(limit, on_body)
        self._answer = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._late, seconds)
        try:
            self._transport.write(request)
            del request  # thousands of calls wait here at once
            return await self._answer
        except BaseException:
            self.abort()
            raise
        finally:
            timer.cancel()
            self._answer = self._reader = None

    def abort(self) -> None:
        """Close it at once; what is on its way is lost."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; asyncio calls this."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Read on; asyncio calls this."""
        if self._reader is None or self._answer is None or self._answer.done():
            self.abort()  # nothing was asked, or nothing more
            return
        try:
            answer = self._reader.feed(data)
        except Exception as error:  # of `on_body`, too
            self._fail(error)
            return
        if answer is not None:
            self._give(answer)

    def connection_lost(self, error: Exception | None) -> None:
        """Note the end; asyncio calls this."""
        self._transport = None
        if self._reader is None:
            return
        if error is not None:
            self._fail(ServerFaultError(f"the connection was lost: {type(error).__name__}: {error}"))
            return
        try:
            self._give(self._reader.end())
        except Exception as fault:
            self._fail(fault)

    def _give(self, answer: Answer) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def _late(self, seconds: float) -> None:
        self._fail(ServerFaultError(f"no whole answer within {seconds:g} s"))

    def _fail(self, fault: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(fault)
