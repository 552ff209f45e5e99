"""What requests ask of the policy, through whichever of the APIs, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from agentic_rl.agents.task import Message
from agentic_rl.rollout.gateway.body import NUMBER, Body
from agentic_rl.rollout.gateway.faults import InvalidError

MODEL = "policy"
"""The name of the policy in lists; clients may use any."""
_MOST_ANSWERS = 128
_MOST_STOPS = 16


@dataclass(frozen=True)
class Ask:
    """A request, read."""

    model: str
    """As the client calls it."""
    stream: bool
    messages: list[Message] | None = None
    prompt: str | list[int] = ""
    """Where there are no messages."""
    tools: list[dict[str, Any]] = field(default_factory=list)
    """In the form of chat completions."""
    n: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    """Keywords of `Conversation.complete`."""
    logprobs: bool = False
    token_ids: bool = False
    """Whether the answer has the ids of tokens, as vLLM gives them for `return_token_ids`."""
    usage_in_stream: bool = False


@dataclass(frozen=True)
class Choice:
    """One answer of the policy."""

    message: Message
    """Of chat completions."""
    text: str
    token_ids: Sequence[int]
    logprobs: Sequence[float]
    finish_reason: Literal["stop", "tool_calls", "length"]
    prompt_ids: Sequence[int]


OnText = Callable[[int, str], None]
"""Told of the number of an answer and what is added to its text."""


class Policy(Protocol):
    """What answers."""

    async def answer(self, ask: Ask, on_text: OnText | None = None) -> list[Choice]:
        """Return `ask.n` answers; `on_text` is told of their text while they are written.

        Raises:
            Exception: see `api_error`.
        """
        ...


def read_options(body: Body, *limits: str) -> dict[str, Any]:
    """Take how to sample: what `Conversation.complete` takes as keywords.

    Args:
        body: whose keys are taken.
        limits: the names that the number of new tokens may have.
    """
    most = [body.take(name, int) for name in limits]
    options = {
        "max_tokens": next((one for one in most if one is not None), None),
        "temperature": body.take("temperature", *NUMBER),
        "top_p": body.take("top_p", *NUMBER),
        "min_p": body.take("min_p", *NUMBER),
        "top_k": body.take("top_k", int),
        "seed": body.take("seed", int),
        "stop": _stops(body),
        "stop_token_ids": body.take_integers("stop_token_ids"),
        "chat_template_kwargs": body.take("chat_template_kwargs", dict),
    }
    if options["max_tokens"] is not None and options["max_tokens"] < 1:
        raise InvalidError(f"{limits[0]} is {options['max_tokens']}; it must be 1 at least", param=limits[0])
    return {name: value for name, value in options.items() if value not in (None, [])}


def read_n(body: Body) -> int:
    """Take the number of answers."""
    number = int(body.take("n", int, default=1))
    if not 1 <= number <= _MOST_ANSWERS:
        raise InvalidError(f"n is {number}; it must be from 1 to {_MOST_ANSWERS}", param="n")
    return number


def read_model(body: Body) -> str:
    """Take the name of the model, which is the client's own affair."""
    return str(body.take("model", str, default=MODEL))


def refuse_alternatives(key: str, number: int, *, most: int) -> None:
    """Refuse to tell of tokens that were not sampled.

    Raises:
        InvalidError: more of them are asked for than `most`.
    """
    if number > most:
        problem = f"{key} is {number}, but engines tell of sampled tokens only; leave it out or give {most}"
        raise InvalidError(problem, param=key, code="unsupported_parameter")


def _stops(body: Body) -> list[str]:
    stops = body.take("stop", str, list, default=[])
    stops = [stops] if isinstance(stops, str) else stops
    if not all(isinstance(one, str) and one for one in stops) or len(stops) > _MOST_STOPS:
        raise InvalidError(f"stop must be text, or a list of at most {_MOST_STOPS}, none of them empty", param="stop")
    return list(stops)
