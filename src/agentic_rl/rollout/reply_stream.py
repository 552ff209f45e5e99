"""A reply of the policy while it is written: its text for those who read along, and an end at a stop string."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.decoding import TextStream
from agentic_rl.rollout.engines.base import Completion, Engine, SamplingParams
from agentic_rl.rollout.held_back import settled_length
from agentic_rl.rollout.stops import cut_at_stop, text_before_stop

OnText = Callable[[str], None]
"""Told of what is added to the text of a reply."""


class _StopFoundError(Exception):
    """A stop string is whole."""


class ReplyStream:
    """Follows one reply.

    Args:
        chat_format: of the policy.
        stop: the reply ends before the first of these texts.
        on_text: told of the text as it becomes certain.
        settled: of a text that is still being written, the beginning that is to be told whatever follows.
    """

    def __init__(
        self,
        chat_format: ChatFormat,
        stop: Sequence[str],
        on_text: OnText | None = None,
        settled: Callable[[str], str] = str,
    ) -> None:
        self._format = chat_format
        self._stop = stop
        self._on_text = on_text
        self._settled = settled
        self._stream = TextStream(chat_format.decode)
        self._tokens: list[int] = []
        self._logprobs: list[float] = []
        self._told = 0

    async def generate(
        self, engine: Engine, prompt: Sequence[int], sampling: SamplingParams, session: str | None = None
    ) -> Completion:
        """Let an engine write the reply; see `Engine.generate`."""
        try:
            completion = await engine.generate(prompt, sampling, session=session, on_tokens=self._take)
        except _StopFoundError:
            completion = Completion(self._tokens, self._logprobs, "stop")
        return cut_at_stop(completion, self._stop, self._format)

    def _take(self, tokens: Sequence[int], logprobs: Sequence[float]) -> None:
        self._tokens += tokens
        self._logprobs += logprobs
        self._stream.add([token for token in tokens if token not in self._format.stop_ids])
        text = self._stream.text
        ended = text_before_stop(text, self._stop)
        if self._on_text is not None:
            self._tell(self._settled(ended[: settled_length(ended, self._stop)]), self._on_text)
        if len(ended) < len(text):
            raise _StopFoundError

    def _tell(self, text: str, on_text: OnText) -> None:
        if len(text) > self._told:
            on_text(text[self._told :])
            self._told = len(text)
