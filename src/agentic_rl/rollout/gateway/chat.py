"""`/v1/chat/completions`: bodies, answers and the chunks of a stream."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from agentic_rl.rollout.gateway.ask import Ask, Choice, read_model, read_n, read_options
from agentic_rl.rollout.gateway.body import Body
from agentic_rl.rollout.gateway.faults import InvalidError
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
    alternatives = body.take("top_logprobs", int, default=0)
    logprobs = body.take("logprobs", bool, default=False)
    if alternatives and not logprobs:
        raise InvalidError("top_logprobs needs logprobs: true", param="top_logprobs")
    stream, usage_too = read_stream(body)
    ask = Ask(
        model=read_model(body),
        stream=stream,
        messages=messages,
        tools=tools,
        n=read_n(body),
        options=read_options(body, "max_completion_tokens", "max_tokens"),
        logprobs=logprobs,
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


def chunks(ask: Ask, whole: Json) -> Iterator[Json]:
    """Return an answer in the chunks of a stream."""
    head = _head(ask, whole["id"].removeprefix("chatcmpl-"), "chat.completion.chunk")
    if ask.usage_in_stream:
        head["usage"] = None
    for choice in whole["choices"]:
        for delta in _deltas(choice["message"]):
            yield {**head, "choices": [{"index": choice["index"], "delta": delta, "finish_reason": None}]}
        yield {**head, "choices": [{**_without(choice, "message"), "delta": {}}]}
    if ask.usage_in_stream:
        yield {**head, "choices": [], "usage": whole["usage"]}


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


def _deltas(message: Json) -> Iterator[Json]:
    yield {"role": "assistant", "content": ""}
    if message["content"]:
        yield {"content": message["content"]}
    for place, call in enumerate(message.get("tool_calls", ())):
        yield {"tool_calls": [{"index": place, **call}]}


def _without(values: Json, key: str) -> Json:
    return {name: value for name, value in values.items() if name != key}
