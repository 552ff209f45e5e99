"""Sees what happens in a rollout: what the policy writes, and the messages of its conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import count
from typing import Any

from agentic_rl.agents.agent import ToolSpec
from agentic_rl.agents.task import Message
from agentic_rl.rollout.branches import Branch
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.decoding import TextStream
from agentic_rl.rollout.engines.base import Completion, Engine, OnTokens, SamplingParams
from agentic_rl.rollout.segments import Conversation, Reply
from agentic_rl.serve.agents import events

Emit = Callable[[bytes], None]


class _Turn:
    """Tells what the policy writes in one turn."""

    def __init__(self, emit: Emit, chat_format: ChatFormat, number: int, prompt: int) -> None:
        self._emit = emit
        self._number, self._prompt, self._written = number, prompt, 0
        self._silent = chat_format.stop_ids
        self._stream = TextStream(chat_format.decode)
        self._told = 0
        emit(events.turn_began(number))

    def add(self, tokens: Sequence[int]) -> None:
        self._written += len(tokens)
        self._stream.add([token for token in tokens if token not in self._silent])
        if delta := self._stream.text[self._told :]:
            self._told += len(delta)
            self._emit(events.text_delta(self._number, delta))

    def end(self, reason: str) -> None:
        self._emit(events.turn_ended(self._number, self._prompt, self._written, reason))


class Watch:
    """Tells the events of one rollout."""

    def __init__(self, emit: Emit, chat_format: ChatFormat) -> None:
        self.emit = emit
        self._turns = count()
        self._format = chat_format
        self._messages = 0
        self._answered: set[Any] = set()
        """Calls whose output was told."""

    def begin(self, prompt: int) -> _Turn:
        """Tell of a turn that begins after `prompt` tokens."""
        return _Turn(self.emit, self._format, next(self._turns), prompt)

    def turn(self, messages: Sequence[Message], reply: Message) -> None:
        """Tell of a turn: what was new in the conversation, and what the policy answered."""
        self._outputs(_after_last_reply(messages))
        self._reply(reply)

    def rest(self, messages: Sequence[Message]) -> None:
        """Tell at the end what has not been told: outputs after the last turn, and all that a wrapper made."""
        if self._messages:
            self._outputs(_after_last_reply(messages))
            return
        for message in messages:
            if message.get("role") == "assistant":
                self._reply(message)
            else:
                self._outputs([message])

    def _outputs(self, messages: Sequence[Message]) -> None:
        for message in messages:
            call = message.get("tool_call_id")
            if message.get("role") == "tool" and (call is None or call not in self._answered):
                self._answered.add(call)
                self.emit(events.tool_output(message))

    def _reply(self, reply: Message) -> None:
        turn, self._messages = self._messages, self._messages + 1
        calls = reply.get("tool_calls") or ()
        if reply.get("content") or not calls:
            self.emit(events.message_output_created(turn, str(reply.get("content") or "")))
        for call in calls:
            self.emit(events.tool_called(call))


WATCH: ContextVar[Watch | None] = ContextVar("WATCH", default=None)
"""Who watches the rollout that runs."""


class WatchedEngine:
    """An engine whose tokens are told to the watch of the rollout that asks for them."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def max_model_len(self) -> int:
        """The longest sequence."""
        return self._engine.max_model_len

    async def generate(
        self,
        prompt: Sequence[int],
        sampling: SamplingParams,
        *,
        session: str | None = None,
        on_tokens: OnTokens | None = None,
    ) -> Completion:
        """Continue `prompt`; see `Engine.generate`."""
        watch = WATCH.get()
        if watch is None:
            return await self._engine.generate(prompt, sampling, session=session, on_tokens=on_tokens)
        turn = watch.begin(len(prompt))

        def take(tokens: Sequence[int], logprobs: Sequence[float]) -> None:
            turn.add(tokens)
            if on_tokens is not None:
                on_tokens(tokens, logprobs)

        reason = "stop"  # also of a turn that `on_tokens` ends
        try:
            completion = await self._engine.generate(prompt, sampling, session=session, on_tokens=take)
            reason = completion.finish_reason
        finally:
            turn.end(reason)
        return completion

    def release(self, session: str) -> None:
        """Forget the cache of `session`."""
        self._engine.release(session)

    def weights_changed(self) -> None:
        """Read the weights again."""
        self._engine.weights_changed()

    async def close(self) -> None:
        """Stop."""
        await self._engine.close()


class WatchedConversation(Conversation):
    """A conversation whose messages are told to the watch of the rollout that it was made in."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._watch = WATCH.get()

    async def complete(
        self, messages: Sequence[Message], tools: Sequence[ToolSpec] | None = None, **options: Any
    ) -> Reply:
        """Let the policy answer; see `Conversation.complete`."""
        return self._told(messages, await super().complete(messages, tools, **options))

    async def extend(self, branch: Branch, messages: Sequence[Message], **sampling: Any) -> Reply:
        """Let the policy answer; see `Conversation.extend`."""
        return self._told(messages, await super().extend(branch, messages, **sampling))

    def _told(self, messages: Sequence[Message], reply: Reply) -> Reply:
        if self._watch is not None:
            self._watch.turn(messages, reply.message)
        return reply


def _after_last_reply(messages: Sequence[Message]) -> Sequence[Message]:
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].get("role") == "assistant":
            return messages[place + 1 :]
    return messages
