"""Bodies and answers of the OpenAI API, as plain dictionaries."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentic_rl.rollout.chat import ChatFormat
from agentic_rl.rollout.engines.base import Completion
from agentic_rl.rollout.stops import text_before_stop
from agentic_rl.rollout.tool_calls import as_openai

_LOGGER = logging.getLogger(__name__)
_SAMPLING = ("temperature", "top_k", "top_p", "min_p", "seed")
_WITHOUT_EFFECT = frozenset(
    {"model", "logprobs", "top_logprobs", "return_token_ids", "prompt_logprobs", "user", "timeout", "extra_headers"}
)
"""Keys that need no word: they choose nothing here, or ask for what every answer has anyway."""


@dataclass(frozen=True)
class Request:
    """A completions or chat completions body, read."""

    prompt: tuple[int, ...]
    sampling: dict[str, Any]
    """Those of temperature, top_k, top_p, min_p and seed that the body has."""
    max_tokens: int | None
    stop: tuple[str, ...]
    stop_token_ids: tuple[int, ...]
    n: int
    chat: bool
    tools: Any = None
    """What the policy may call, in OpenAI's form."""


def read_request(body: Mapping[str, Any], chat_format: ChatFormat) -> Request:
    """Read a body: `messages` (and `tools`), or `prompt` as token ids or text.

    Raises:
        ValueError: neither or both are there, or the body asks for a stream.
    """
    rest = {**body, **(body.get("extra_body") or {})}
    rest.pop("extra_body", None)
    if rest.pop("stream", False):
        raise ValueError("stream: answers come whole here; leave stream out")
    messages, tools, prompt = (rest.pop(key, None) for key in ("messages", "tools", "prompt"))
    if (messages is None) == (prompt is None):
        raise ValueError("the body needs messages or prompt, and not both")
    stop = rest.pop("stop", None) or ()
    limits = [rest.pop(key, None) for key in ("max_completion_tokens", "max_tokens")]
    request = Request(
        prompt=_prompt_ids(prompt, chat_format) if messages is None else chat_format.initial_ids(messages, tools),
        sampling={key: rest.pop(key) for key in _SAMPLING if rest.get(key) is not None},
        max_tokens=next((limit for limit in limits if limit is not None), None),
        stop=(stop,) if isinstance(stop, str) else tuple(stop),
        stop_token_ids=tuple(rest.pop("stop_token_ids", None) or ()),
        n=rest.pop("n", None) or 1,
        chat=messages is not None,
        tools=tools,
    )
    ignored = sorted(key for key in rest.keys() - _WITHOUT_EFFECT if rest[key] is not None)
    if ignored:
        _LOGGER.warning("completions: %s have no effect here", ", ".join(ignored))
    return request


def _prompt_ids(prompt: Any, chat_format: ChatFormat) -> tuple[int, ...]:
    if isinstance(prompt, str):
        return tuple(chat_format.tokenizer.encode(prompt, add_special_tokens=False))
    if isinstance(prompt, Sequence) and len(prompt) == 1 and not isinstance(prompt[0], int):
        return _prompt_ids(prompt[0], chat_format)
    if isinstance(prompt, Sequence) and prompt and all(isinstance(token, int) for token in prompt):
        return tuple(prompt)
    raise ValueError("prompt must be text or a list of token ids, one prompt a call")


def write_answer(request: Request, completions: Sequence[Completion], chat_format: ChatFormat) -> dict[str, Any]:
    """Return the answer; each choice has `token_ids` beside its text."""
    written = sum(len(completion.tokens) for completion in completions)
    choice = _chat_choice if request.chat else _choice
    return {
        "id": "local",
        "object": "chat.completion" if request.chat else "text_completion",
        "created": 0,
        "model": "policy",
        "prompt_token_ids": list(request.prompt),
        "choices": [
            {"index": index, "token_ids": list(one.tokens), **choice(request, one, chat_format)}
            for index, one in enumerate(completions)
        ],
        "usage": {
            "prompt_tokens": len(request.prompt),
            "completion_tokens": written,
            "total_tokens": len(request.prompt) + written,
        },
    }


def _choice(request: Request, completion: Completion, chat_format: ChatFormat) -> dict[str, Any]:
    return {
        "text": text_before_stop(chat_format.text(completion.tokens), request.stop),
        "finish_reason": completion.finish_reason,
        "logprobs": {
            "tokens": _spelled(completion, chat_format),
            "token_logprobs": list(completion.logprobs),
            "top_logprobs": None,
            "text_offset": [],
        },
    }


def _chat_choice(request: Request, completion: Completion, chat_format: ChatFormat) -> dict[str, Any]:
    text = text_before_stop(chat_format.text(completion.tokens), request.stop)
    content, calls = chat_format.dialog(request.tools).read(text)
    message: dict[str, Any] = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = [as_openai(call, f"call_{place}") for place, call in enumerate(calls)]
    stopped = "tool_calls" if calls else "stop"
    spelled = zip(_spelled(completion, chat_format), completion.logprobs, strict=True)
    return {
        "message": message,
        "finish_reason": stopped if completion.finish_reason == "stop" else "length",
        "logprobs": {"content": [{"token": token, "logprob": logprob} for token, logprob in spelled]},
    }


def _spelled(completion: Completion, chat_format: ChatFormat) -> list[str]:
    return [str(token) for token in chat_format.tokenizer.convert_ids_to_tokens(completion.tokens)]
