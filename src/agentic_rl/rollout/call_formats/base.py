"""What every format has: a name, a form to show to a model that got it wrong, and a reader."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.rollout.tool_calls import ParsedCall

Schemas = Sequence[Mapping[str, Any]]
Call = tuple[str, Any]
"""A name and the object of its arguments; text in its place is what a policy wrote that is no object."""
_SHOWN = 200
"""Characters of a malformed call that its error message quotes."""


class CallFormat(ABC):
    """A way to write calls in a reply."""

    name: str
    form: str
    """How a call is written, in a few words for the model."""

    @abstractmethod
    def read(self, text: str, schemas: Schemas) -> tuple[str, list[ParsedCall]]:
        """Split what a policy wrote into the text outside its calls and the calls, malformed ones included, in order.

        Args:
            text: a reply without thoughts.
            schemas: the tools that there are, in OpenAI's form.
        """

    @abstractmethod
    def calls_begin(self, text: str, schemas: Schemas) -> int:
        """Return where a call may begin in a reply that is still being written; its length where none may yet."""

    @abstractmethod
    def write(self, calls: Sequence[Call]) -> str:
        """Write calls, each a name and its arguments, for a template that prints none."""

    @abstractmethod
    def wrote(self, rendered: str, tool: str) -> bool:
        """Whether a rendered conversation has a call of `tool` in this format."""

    def malformed(self, body: str, why: str) -> ParsedCall:
        """Return a call that can't be made, with what the model reads about it."""
        shown = body if len(body) <= _SHOWN else f"{body[:_SHOWN]}..."
        return ParsedCall("", body, f"the tool call {shown!r} can't be read: {why}; write {self.form}")

    def from_object(self, call: Any, body: str, *keys: str) -> ParsedCall:
        """Read an object with the name and, under one or the other key, the arguments."""
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            return self.malformed(body, 'not an object with a "name"')
        key = keys[0] if len(keys) == 1 or keys[0] in call else keys[1]
        arguments = call.get(key, {})
        if not isinstance(arguments, dict):
            return self.malformed(body, f'"{key}" is not an object')
        return ParsedCall(call["name"], PLAIN_JSON.encode(arguments))


def as_json(value: Any) -> str:
    """Write a value as templates do."""
    return value if isinstance(value, str) else PLAIN_JSON.encode(value)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


PLAIN_JSON = json.JSONEncoder(ensure_ascii=False)
STRICT_JSON = json.JSONDecoder(parse_constant=_refuse)
"""Without the numbers that Python adds to JSON. Raises ValueError, and RecursionError where it is nested too deep."""
