"""The branches of a rollout's conversation: sequences of tokens that grow at their ends, and fork at their turns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from agentic_rl.agents.task import Message
from agentic_rl.agents.token_window import TokenWindow
from agentic_rl.agents.trajectory import Segment, Step
from agentic_rl.rollout.chat import Dialog
from agentic_rl.rollout.plain_messages import content_text


class Turn(NamedTuple):
    """A turn of the policy in a branch."""

    messages: int
    """How many messages the branch had after it."""
    start: int
    """The place of its first token."""
    end: int
    """The place after its last token."""
    text: str
    """What the policy wrote."""
    thoughts: bool
    """Whether the policy had written a `<think>` block by then."""


@dataclass
class Branch:
    """One sequence: what the policy was shown and what it wrote, of which only the end changes."""

    dialog: Dialog | None
    """None: the prompt was given as tokens, and no messages can continue it."""
    budget_start: int
    """The place from which tokens count for `max_response_length`."""
    tokens: list[int] = field(default_factory=list)
    learned_from: int = 0
    """The place of the first token that is the policy's own here: what is before a fork is another branch's."""
    mask: list[int] = field(default_factory=list)
    """Of the tokens from `learned_from` on, as are the log-probabilities."""
    logprobs: list[float] = field(default_factory=list)
    history: list[Message] = field(default_factory=list)
    turns: list[Turn] = field(default_factory=list)

    def fork(self, turn: int) -> Branch:
        """Return a new branch that shares what is up to the end of a turn."""
        last = self.turns[turn]
        return Branch(
            self.dialog,
            self.budget_start,
            self.tokens[: last.end],
            history=self.history[: last.messages],
            turns=self.turns[: turn + 1],
        )

    def show(self, tokens: Sequence[int], messages: Sequence[Message]) -> None:
        """Append what the policy is shown."""
        self.tokens += tokens
        self.history += [dict(message) for message in messages]
        if self.learned_from:
            self.mask += [0] * len(tokens)
            self.logprobs += [0.0] * len(tokens)
        else:
            self.learned_from = len(self.tokens)

    def write(self, tokens: Sequence[int], logprobs: Sequence[float], reply: Message, text: str) -> None:
        """Append a turn of the policy."""
        thoughts = "</think>" in text or (bool(self.turns) and self.turns[-1].thoughts)
        start = len(self.tokens)
        self.tokens += tokens
        self.mask += [1] * len(tokens)
        self.logprobs += logprobs
        self.history.append(dict(reply))
        self.turns.append(Turn(len(self.history), start, len(self.tokens), text, thoughts))

    def turn_of(self, messages: Sequence[Message]) -> int:
        """Return the last turn that `messages` continue with something new; -1: none."""
        limit = len(messages) - 1
        for turn in range(len(self.turns) - 1, -1, -1):
            known = self.turns[turn].messages
            if known <= limit and first_difference(self.history[:known], messages) is None:
                return turn
        return -1

    def step(self, turn: int, recorded: Segment) -> Step:
        """Return one turn, with views of what `segment` returned."""
        this = self.turns[turn]
        start, end = this.start - self.learned_from, this.end - self.learned_from
        prompt, response = cast("list[int]", recorded.prompt_tokens), cast("list[int]", recorded.response_tokens)
        step = Step(
            TokenWindow(prompt, 0, this.start, response),
            TokenWindow(response, start, end),
            TokenWindow(recorded.response_logprobs, start, end),
            chat_completions=self.history[: this.messages],
        )
        step.model_response = this.text
        return step

    def segment(self) -> Segment:
        """Return what was recorded."""
        return Segment(self.tokens[: self.learned_from], self.tokens[self.learned_from :], self.mask, self.logprobs)


def first_difference(known: Sequence[Message], messages: Sequence[Message]) -> int | None:
    """Return the place of the first of `messages` that is not as recorded; None: all that both have are equal."""
    for place, (old, new) in enumerate(zip(known, messages, strict=False)):
        if old != new and _essence(old) != _essence(new):
            return place
    return None


def _essence(message: Message) -> tuple[Any, ...]:
    """What of a message reaches the policy; agents and their clients may drop, add or spell anew the rest."""
    calls = [_call(call) for call in message.get("tool_calls") or []]
    role, content = message.get("role"), content_text(message.get("content"))
    if role == "assistant" and isinstance(content, str):
        content = content.strip()
    return role, content, calls


def _call(call: Any) -> tuple[Any, Any]:
    function = call.get("function", call) if isinstance(call, Mapping) else call
    if not isinstance(function, Mapping):
        return None, function
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return function.get("name"), arguments
    return function.get("name"), arguments
