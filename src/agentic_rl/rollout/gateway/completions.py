"""`/v1/completions`: bodies, answers and the chunks of a stream."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

from agentic_rl.rollout.gateway.ask import Ask, Choice, read_model, read_n, read_options, refuse_alternatives
from agentic_rl.rollout.gateway.body import Body
from agentic_rl.rollout.gateway.chat import Json, read_stream
from agentic_rl.rollout.gateway.faults import InvalidError
from agentic_rl.rollout.gateway.spelling import Spelling, usage

_TOKENS = 2**31
"""More than any vocabulary has."""


def read(body: Body) -> Ask:
    """Read a body.

    Raises:
        InvalidError: it can't be answered as it is.
    """
    prompt = _prompt(body.need("prompt", str, list))
    stream, usage_too = read_stream(body)
    ask = Ask(
        model=read_model(body),
        stream=stream,
        prompt=prompt,
        n=read_n(body),
        options=read_options(body, "max_tokens"),
        logprobs=_logprobs_wanted(body),
        token_ids=body.take("return_token_ids", bool, default=False),
        usage_in_stream=usage_too,
    )
    if ask.options.pop("chat_template_kwargs", None):
        raise InvalidError("a prompt has no chat template; leave chat_template_kwargs out", param="prompt")
    body.finish()
    return ask


def answer(ask: Ask, choices: Sequence[Choice], answer_id: str, spelling: Spelling) -> Json:
    """Return the answer."""
    return {
        **_head(ask, answer_id),
        "choices": [_choice(place, choice, ask, spelling) for place, choice in enumerate(choices)],
        "usage": usage(choices),
    }


class Chunks:
    """Writes the stream of one answer."""

    named = False

    def __init__(self, ask: Ask, answer_id: str) -> None:
        self._head = _head(ask, answer_id)
        self._usage = ask.usage_in_stream
        self._told: Counter[int] = Counter()

    def text(self, place: int, delta: str) -> Iterator[Json]:
        """Return the chunk for text that is added to a choice."""
        self._told[place] += len(delta)
        yield {**self._head, "choices": [{"index": place, "text": delta, "finish_reason": None, "logprobs": None}]}

    def end(self, whole: Json) -> Iterator[Json]:
        """Return the chunk for what is left of each choice; all of its log-probabilities are in it."""
        for choice in whole["choices"]:
            rest = choice["text"][self._told[choice["index"]] :]
            yield {**self._head, "choices": [{**choice, "text": rest}]}
        if self._usage:
            yield {**self._head, "choices": [], "usage": whole["usage"]}


def _logprobs_wanted(body: Body) -> bool:
    wanted = body.take("logprobs", int, bool, default=False)
    refuse_alternatives("logprobs", int(wanted), most=1)
    return wanted is not False


def _prompt(prompt: Any) -> str | list[int]:
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str | list):
        prompt = prompt[0]
    if prompt and (isinstance(prompt, str) or all(type(token) is int and 0 <= token < _TOKENS for token in prompt)):
        return prompt  # type: ignore[no-any-return]  # it has just been looked at
    raise InvalidError("prompt must be one text or one list of token ids, and not empty", param="prompt")


def _head(ask: Ask, answer_id: str) -> Json:
    return {"id": f"cmpl-{answer_id}", "object": "text_completion", "created": int(time.time()), "model": ask.model}


def _choice(place: int, choice: Choice, ask: Ask, spelling: Spelling) -> Json:
    ids = {"token_ids": list(choice.token_ids), "prompt_token_ids": list(choice.prompt_ids)}
    return {
        "index": place,
        "text": choice.text,
        "finish_reason": "length" if choice.finish_reason == "length" else "stop",
        "logprobs": _logprobs(choice, spelling) if ask.logprobs else None,
        **(ids if ask.token_ids else {}),
    }


def _logprobs(choice: Choice, spelling: Spelling) -> dict[str, Any]:
    tokens = spelling.tokens(choice)
    return {
        "tokens": tokens,
        "token_logprobs": list(choice.logprobs),
        "top_logprobs": None,
        "text_offset": [0, *accumulate(map(len, tokens))][: len(tokens)],
    }
