"""The asynchronous half of an in-process engine: callers wait, one task steps the model."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence

from agentic_rl.rollout.engines.base import Completion, EngineClosedError, OnTokens, SamplingParams
from agentic_rl.rollout.engines.requests import Row, check_prompt, check_sampling

# So many turns of the event loop an agent may need from the end of one call to its next: the call's own task, a
# timeout around it, a tool that awaits something that is ready. Each costs some microseconds.
_TURNS_FOR_AGENTS = 8


class QueueEngine(ABC):
    """Requests in order of arrival, a step at a time.

    Everything runs in the event loop's thread. The task that steps exists only while there is work, so an engine may
    serve several `asyncio.run` calls one after the other, and an idle engine costs nothing.
    """

    def __init__(self, *, max_model_len: int, vocab_size: int) -> None:
        self.max_model_len = max_model_len
        self._vocab_size = vocab_size
        self._waiting: deque[Row] = deque()
        self._task: asyncio.Task[None] | None = None
        self._closed: EngineClosedError | None = None
        self._cancelled = False
        """A caller has gone since the last step."""

    @abstractmethod
    def release(self, session: str) -> None:
        """Forget the cache of `session`; see `Engine.release`."""

    @abstractmethod
    def weights_changed(self) -> None:
        """Read the weights again; see `Engine.weights_changed`."""

    @abstractmethod
    def _running(self) -> list[Row]:
        """The admitted rows that have not ended, in a fixed order."""

    @abstractmethod
    def _busy(self) -> bool:
        """Whether any row was admitted and has not ended."""

    @abstractmethod
    def _step(self) -> list[Row]:
        """Admit waiting rows, run the model once, and return the rows that ended."""

    @abstractmethod
    def _drop(self) -> None:
        """Forget all rows and free what they hold."""

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        """Continue `prompt`; see `Engine.generate`."""
        if self._closed:
            raise EngineClosedError(*self._closed.args) from self._closed.__cause__
        check_sampling(sampling)
        check_prompt(prompt, self._vocab_size, self.max_model_len)
        limit = min(len(prompt) + sampling.max_tokens, self.max_model_len)
        loop = asyncio.get_running_loop()
        if self._task is not None and not self._task.done() and self._task.get_loop().is_closed():
            self._task = None  # that loop was closed over its callers
            self._forget()
        future: asyncio.Future[Completion] = loop.create_future()
        self._waiting.append(Row(prompt, sampling, session, limit, future, on_tokens=on_tokens))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._work())
        try:
            return await future
        except asyncio.CancelledError:
            self._cancelled = True
            raise

    async def close(self) -> None:
        """Refuse further requests, let the waiting ones fail, and free the cache."""
        if self._closed is None:
            self._closed = EngineClosedError("the engine is closed")
            self._fail(self._closed)
        if self._task is not None and not self._task.done():
            await asyncio.gather(self._task, return_exceptions=True)

    async def _work(self) -> None:
        try:
            await self._let_agents_run(None)
            while self._closed is None and (self._waiting or self._busy()):
                ended = self._step()
                for row in ended:
                    row.finish()
                await self._let_agents_run(len(ended))
        except Exception as error:
            self._closed = EngineClosedError(f"the model failed: {type(error).__name__}: {error}")
            self._closed.__cause__ = error
            self._fail(self._closed)
        except asyncio.CancelledError:
            self._fail(EngineClosedError("the event loop that the engine ran on has ended"))
            raise

    async def _let_agents_run(self, ended: int | None) -> None:
        """Give the event loop turns, so that agents enqueue their next call before the next step.

        `ended` agents may do so; when all of them have, there is nothing to wait for.
        """
        await asyncio.sleep(0)
        if ended == 0:
            return
        expected = None if ended is None else len(self._waiting) + ended
        for _ in range(_TURNS_FOR_AGENTS - 1):
            if expected is not None and len(self._waiting) >= expected:
                return
            await asyncio.sleep(0)

    def _fail(self, error: EngineClosedError) -> None:
        """Hand an error to all who wait."""
        for row in (*self._waiting, *self._running()):
            if not row.future.done():
                failure = EngineClosedError(*error.args)
                failure.__cause__ = error.__cause__
                row.future.set_exception(failure)
        self._forget()

    def _forget(self) -> None:
        self._waiting.clear()
        self._drop()
