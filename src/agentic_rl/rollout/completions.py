"""The function that a user's wrapper calls for completions, in whatever thread and event loop it runs."""

from __future__ import annotations

import asyncio
import contextvars
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agentic_rl.agents.deadline import Deadline
from agentic_rl.agents.errors import RolloutEndedError
from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.engines.base import Completion, Engine, SamplingParams
from agentic_rl.rollout.limits import Limits
from agentic_rl.rollout.openai_shapes import Request, read_request, write_answer
from agentic_rl.rollout.reply_stream import OnText, ReplyStream


class CompletionsFunction:
    """Answers completions and chat completions bodies with the engine, and remembers what it answered."""

    def __init__(self, engine: Engine, chat_format: ChatFormat, limits: Limits) -> None:
        self._engine = engine
        self._format = chat_format
        self._limits = limits
        self._loop: asyncio.AbstractEventLoop | None = None
        self.context = contextvars.Context()
        """Of the latest batch, for calls that come from elsewhere."""
        self._open = 0
        self._greedy = False
        self._seed = 0
        self._asked: Counter[tuple[int, ...]] = Counter()
        self._answers: dict[tuple[int, ...], list[Completion]] = {}

    def open(self, seed: int, *, greedy: bool) -> None:
        """Begin a batch on the running event loop, which is the engine's; it may overlap others of its kind."""
        self._loop = asyncio.get_running_loop()
        self._open += 1
        self.context = contextvars.copy_context()
        self._seed, self._greedy = seed, greedy

    def close(self) -> None:
        """End the batch: after the last, what still runs in a thread of the wrapper gets an error when it asks."""
        self._open -= 1
        if self._open:
            return
        self._loop = None
        self._asked.clear()
        self._answers.clear()

    async def __call__(self, request: Mapping[str, Any] | None = None, /, **body: Any) -> dict[str, Any]:
        """Answer a body in OpenAI's form, with token ids and log-probabilities.

        Args:
            request: the body as one dictionary, as older files pass it.
            **body: the body as keywords; they win over the dictionary's keys.

        Raises:
            ValueError: the body can't be answered; the message names the key.
            RolloutEndedError: the batch that this belongs to has ended.
        """
        body = {**(request or {}), **body}
        if self._loop is None:
            raise RolloutEndedError("completions was called after its batch had ended")
        if asyncio.get_running_loop() is self._loop:
            return await self._answer(body)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._answer(body), self._loop))

    async def streamed(self, on_text: Callable[[int, str], None], /, **body: Any) -> dict[str, Any]:
        """Answer a body on the engine's loop, and tell `on_text` of each answer's number and text as it is written."""
        if self._loop is None:
            raise RolloutEndedError("completions was called after its batch had ended")
        return await self._answer(body, on_text)

    async def _answer(self, body: dict[str, Any], on_text: Callable[[int, str], None] | None = None) -> dict[str, Any]:
        request = read_request(body, self._format)
        params = self._params(request)

        def one(place: int) -> Coroutine[Any, Any, Completion]:
            listener = None if on_text is None else partial(on_text, place)
            return self._complete(request, replace(params, seed=self._seed_of(request)), listener)

        with Deadline(self._limits.turn_timeout, "the model call"):
            completions = await asyncio.gather(*map(one, range(request.n)))
        return write_answer(request, completions, self._format)

    async def _complete(self, request: Request, params: SamplingParams, on_text: OnText | None) -> Completion:
        if request.stop or on_text is not None:
            settled = self._format.dialog(request.tools).settled if request.chat else str
            stream = ReplyStream(self._format, request.stop, on_text, settled)
            completion = await stream.generate(self._engine, request.prompt, params)
        else:
            completion = await self._engine.generate(request.prompt, params)
        self._answers.setdefault(request.prompt, []).append(completion)
        return completion

    def _params(self, request: Request) -> SamplingParams:
        room = self._engine.max_model_len - len(request.prompt)
        if room <= 0:
            raise ValueError(
                f"prompt has {len(request.prompt)} tokens, which leaves no room in max_model_len "
                f"{self._engine.max_model_len}"
            )
        asked = request.sampling
        return SamplingParams(
            max_tokens=min(room, request.max_tokens or self._limits.max_tokens),
            temperature=0.0 if self._greedy else asked.get("temperature", self._limits.temperature),
            top_k=asked.get("top_k", self._limits.top_k),
            top_p=asked.get("top_p", self._limits.top_p),
            min_p=asked.get("min_p", self._limits.min_p),
            stop_token_ids=tuple({*self._format.stop_ids, *request.stop_token_ids}),
        )

    def _seed_of(self, request: Request) -> int:
        """Seed by the batch, the prompt and how often it was asked: the copies of a prompt must differ."""
        times = self._asked[request.prompt]
        self._asked[request.prompt] += 1
        digest = zlib.crc32(array("q", request.prompt).tobytes())
        seed = int(request.sampling.get("seed", self._seed))
        return (seed + (digest << 20) + times) % 2**63

    def answers_to(self, prompt: Sequence[int]) -> Sequence[Completion]:
        """Return what was answered to these tokens in this batch, in the order of the answers."""
        return self._answers.get(tuple(prompt), ())

    def logprobs_of(self, tokens: Sequence[int], mask: Sequence[int]) -> list[float]:
        """Find the log-probabilities of a trajectory among the answers that were given.

        Args:
            tokens: prompt and response. Shape (prompt + response,).
            mask: 1 where the policy wrote the token. Shape (response,).

        Returns:
            Shape (response,), 0.0 where the mask is 0; empty if some tokens are not those of an answer, as with an
            agent that tokenizes text again.
        """
        start = len(tokens) - len(mask)
        logprobs: list[float] = []
        while len(logprobs) < len(mask):
            place = len(logprobs)
            if not mask[place]:
                logprobs.append(0.0)
                continue
            found = self._answered(tokens, start + place)
            if not found:
                return []
            logprobs += found[: len(mask) - place]
        return [logprob if own else 0.0 for logprob, own in zip(logprobs, mask, strict=True)]

    def _answered(self, tokens: Sequence[int], start: int) -> Sequence[float]:
        """Return the log-probabilities of the answer that continues `tokens[:start]`, if there was one."""
        for answer in self._answers.get(tuple(tokens[:start]), ()):
            if list(tokens[start : start + len(answer.tokens)]) == answer.tokens[: len(tokens) - start]:
                return answer.logprobs
        return ()
