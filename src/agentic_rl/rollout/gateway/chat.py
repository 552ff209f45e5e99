"""`/v1/chat/completions`: bodies, answers and the chunks of a stream."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from agentic_rl.rollout.gateway.ask import Ask, Choice, read_model, read_n, read_options, refuse_alternatives
from agentic_rl.rollout.gateway.body import Body
from agentic_rl.rollout.gateway.messages import chosen, read_messages, read_tools
from agentic_rl.rollout.gateway.spelling import Spelling, usage

Json = dict[str, Any]


def read(body: Body) -> Ask:
    """Read a body.

    Raises:
        InvalidError: it can't be answered as it is.
    """
    messages = read_messages(body.need("messages", list))
    tools = chosen(body.take("tool_choice", str, dict), read_tools(body.take("tools", list, default=[])))
    refuse_alternatives("top_logprobs", body.take("top_logprobs", int, default=0), most=0)
    stream, usage_too = read_stream(body)
    ask = Ask(
        model=read_model(body),
        stream=stream,
        messages=messages,
        tools=tools,
        n=read_n(body),
        options=read_options(body, "max_completion_tokens", "max_tokens"),
        logprobs=body.take("logprobs", bool, default=False),
        token_ids=body.take("return_token_ids", bool, default=False),
        usage_in_stream=usage_too,
    )
    body.finish()
    return ask


def read_stream(body: Body) -> tuple[bool, bool]:
    """Take whether to stream, and whether the last chunk says how many tokens there were."""
    stream = bool(body.take("stream", bool, default=False))
    options = Body(body.take("stream_options", dict, default={}))
    usage_too = bool(options.take("include_usage", bool, default=False))
    options.take("include_obfuscation", bool)
    options.finish()
    return stream, usage_too


def answer(ask: Ask, choices: Sequence[Choice], answer_id: str, spelling: Spelling) -> Json:
    """Return the answer."""
    return {
        **_head(ask, answer_id, "chat.completion"),
        "choices": [_choice(place, choice, ask, spelling) for place, choice in enumerate(choices)],
        "usage": usage(choices),
        **({"prompt_token_ids": list(choices[0].prompt_ids)} if ask.token_ids else {}),
    }


class Chunks:
    """Writes the stream of one answer."""

    named = False

    def __init__(self, ask: Ask, answer_id: str) -> None:
        self._head = _head(ask, answer_id, "chat.completion.chunk")
        self._usage = ask.usage_in_stream
        if ask.usage_in_stream:
            self._head["usage"] = None
        self._told: dict[int, int] = {}

    def text(self, place: int, delta: str) -> Iterator[Json]:
        """Return the chunks for text that is added to a choice."""
        yield from self._opening(place)
        self._told[place] += len(delta)
        yield self._chunk(place, {"content": delta})

    def end(self, whole: Json) -> Iterator[Json]:
        """Return the chunks for what is left of each choice; its log-probabilities are in its last one."""
        for choice in whole["choices"]:
            place, message = choice["index"], choice["message"]
            yield from self._opening(place)
            rest = (message["content"] or "")[self._told[place] :]
            if rest:
                yield self._chunk(place, {"content": rest})
            for number, call in enumerate(message.get("tool_calls", ())):
                yield self._chunk(place, {"tool_calls": [{"index": number, **call}]})
            yield {**self._head, "choices": [{**_without(choice, "message"), "delta": {}}]}
        if self._usage:
            yield {**self._head, "choices": [], "usage": whole["usage"]}

    def _opening(self, place: int) -> Iterator[Json]:
        if place not in self._told:
            self._told[place] = 0
            yield self._chunk(place, {"role": "assistant", "content": ""})

    def _chunk(self, place: int, delta: Json) -> Json:
        return {**self._head, "choices": [{"index": place, "delta": delta, "finish_reason": None}]}


def _head(ask: Ask, answer_id: str, kind: str) -> Json:
    return {"id": f"chatcmpl-{answer_id}", "object": kind, "created": int(time.time()), "model": ask.model}


def _choice(place: int, choice: Choice, ask: Ask, spelling: Spelling) -> Json:
    message: Json = {"role": "assistant", "content": choice.message["content"], "refusal": None}
    if choice.message.get("tool_calls"):
        message["tool_calls"] = choice.message["tool_calls"]
        message["content"] = message["content"] or None
    return {
        "index": place,
        "message": message,
        "finish_reason": choice.finish_reason,
        "logprobs": {"content": spelling.detailed(choice), "refusal": None} if ask.logprobs else None,
        **({"token_ids": list(choice.token_ids)} if ask.token_ids else {}),
    }


def _without(values: Json, key: str) -> Json:
    return {name: value for name, value in values.items() if name != key}
