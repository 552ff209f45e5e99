"""`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`: hermes, Qwen2.5, Qwen3, SmolLM2."""

from __future__ import annotations

import json
from collections.abc import Sequence

from agentic_rl.rollout.call_formats.base import STRICT_JSON, Call, CallFormat, Schemas, as_json
from agentic_rl.rollout.held_back import settled_length
from agentic_rl.rollout.tool_calls import ParsedCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"


class Hermes(CallFormat):
    """JSON between tags; also a list of calls between one pair of tags, as SmolLM2 writes it."""

    name = "hermes"
    form = f'{OPEN}{{"name": ..., "arguments": {{...}}}}{CLOSE}'

    def read(self, text: str, schemas: Schemas) -> tuple[str, list[ParsedCall]]:
        """Read every pair of tags; without a closing tag the call is malformed."""
        if OPEN not in text:
            return text, []
        outside, bodies = _split(text)
        calls = [call for body, closed in bodies for call in self._between(body.strip(), closed=closed)]
        return outside.rstrip(), calls

    def calls_begin(self, text: str, schemas: Schemas) -> int:
        """Return the place of the first opening tag."""
        return settled_length(text, [OPEN])

    def write(self, calls: Sequence[Call]) -> str:
        """Write each between tags of its own."""
        bodies = [f'{{"name": {json.dumps(name)}, "arguments": {as_json(arguments)}}}' for name, arguments in calls]
        return "\n".join(f"{OPEN}\n{body}\n{CLOSE}" for body in bodies)

    def wrote(self, rendered: str, tool: str) -> bool:
        """Whether JSON with the tool's name is between tags."""
        return any(f'"{tool}"' in body for body, _ in _split(rendered)[1])

    def _between(self, body: str, *, closed: bool) -> list[ParsedCall]:
        if not closed:
            return [self.malformed(body, f"{CLOSE} is missing")]
        try:
            value = STRICT_JSON.decode(body)
        except (ValueError, RecursionError) as error:
            return [self.malformed(body, f"not JSON ({error})")]
        if isinstance(value, list):
            return [self.from_object(call, body, "arguments") for call in value]
        return [self.from_object(value, body, "arguments")]


def _split(text: str) -> tuple[str, list[tuple[str, bool]]]:
    """Return the text outside the tags and each text inside, with whether its tag was closed."""
    outside, place = "", 0
    bodies: list[tuple[str, bool]] = []
    while (start := text.find(OPEN, place)) >= 0:
        outside += text[place:start]
        begin = start + len(OPEN)
        end = text.find(CLOSE, begin)
        if end < 0:
            return outside, [*bodies, (text[begin:], False)]
        bodies.append((text[begin:end], True))
        place = end + len(CLOSE)
    return outside + text[place:], bodies
