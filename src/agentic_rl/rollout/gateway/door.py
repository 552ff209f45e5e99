"""The place where the calls of one trajectory come in."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from agentic_rl.agents.errors import BudgetExhaustedError, RolloutEndedError
from agentic_rl.rollout.gateway.ask import Ask, Choice, OnText
from agentic_rl.rollout.segments import Conversation, Reply


class Door:
    """Answers with a conversation, which records what it answers.

    Calls run in the context in which the door was opened, not in that of a connection: engines tell by it whose they
    are. A call whose client has gone is cancelled, and then nothing of it is recorded.

    Args:
        conversation: of the trajectory.
        base_url: of the trajectory, for clients of OpenAI.
        api_key: that belongs to it.
        shut: called once, when the trajectory ends.
    """

    def __init__(self, conversation: Conversation, base_url: str, api_key: str, shut: Callable[[], None]) -> None:
        self.base_url = base_url
        self.api_key = api_key
        self.spent = False
        """Whether a call was refused because the budget of the rollout had ended."""
        self._conversation = conversation
        self._shut = shut
        self._context = contextvars.copy_context()
        self._calls: set[asyncio.Task[Reply]] = set()
        self._closed = False

    def close(self) -> None:
        """Refuse further calls, and cancel those that run."""
        if not self._closed:
            self._closed = True
            self._shut()
            for call in self._calls:
                call.cancel()

    async def answer(self, ask: Ask, on_text: OnText | None = None) -> list[Choice]:
        """Let the policy answer, `ask.n` times at once; see `Policy.answer`."""
        listeners = [None if on_text is None else partial(on_text, place) for place in range(ask.n)]
        calls = [self._start(self._reply(ask, listener)) for listener in listeners]
        try:
            return [_choice(reply) for reply in await asyncio.gather(*calls)]
        except BudgetExhaustedError:
            self.spent = True
            raise
        except asyncio.CancelledError:
            if self._closed:
                raise RolloutEndedError("the rollout has ended") from None
            raise
        finally:
            for call in calls:
                call.cancel()

    def _start(self, work: Coroutine[Any, Any, Reply]) -> asyncio.Task[Reply]:
        call = self._context.copy().run(asyncio.ensure_future, work)
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)
        return call

    async def _reply(self, ask: Ask, on_text: Callable[[str], None] | None) -> Reply:
        conversation = self._conversation
        if ask.messages is not None:
            return await conversation.complete(ask.messages, ask.tools, on_text=on_text, **ask.options)
        if isinstance(ask.prompt, str):
            return await conversation.complete_text(ask.prompt, on_text=on_text, **ask.options)
        return await conversation.complete_ids(ask.prompt, on_text=on_text, **ask.options)


def _choice(reply: Reply) -> Choice:
    return Choice(reply.message, reply.text, reply.token_ids, reply.logprobs, reply.finish_reason, reply.prompt_ids)
