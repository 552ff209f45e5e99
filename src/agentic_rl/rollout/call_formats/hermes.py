"""`<tool_call>{"name": ..., "arguments": {...}}</tool_call>`: hermes, Qwen2.5, Qwen3, SmolLM2."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from agentic_rl.rollout.call_formats.base import STRICT_JSON, Call, CallFormat, Schemas, as_json
from agentic_rl.rollout.tool_calls import ParsedCall

OPEN, CLOSE = "<tool_call>", "</tool_call>"
TAGGED = re.compile(re.escape(OPEN) + r"(.*?)(?:" + re.escape(CLOSE) + r"|\Z)", re.DOTALL)


class Hermes(CallFormat):
    """JSON between tags; also a list of calls between one pair of tags, as SmolLM2 writes it."""

    name = "hermes"
    form = f'{OPEN}{{"name": ..., "arguments": {{...}}}}{CLOSE}'

    def read(self, text: str, schemas: Schemas) -> tuple[str, list[ParsedCall]]:
        """Read every pair of tags; without a closing tag the call is malformed."""
        if OPEN not in text:
            return text, []
        calls = [call for match in TAGGED.finditer(text) for call in self._between(match)]
        return TAGGED.sub("", text).strip(), calls

    def write(self, calls: Sequence[Call]) -> str:
        """Write each between tags of its own."""
        bodies = [f'{{"name": {json.dumps(name)}, "arguments": {as_json(arguments)}}}' for name, arguments in calls]
        return "\n".join(f"{OPEN}\n{body}\n{CLOSE}" for body in bodies)

    def wrote(self, rendered: str, tool: str) -> bool:
        """Whether JSON with the tool's name is between tags."""
        return any(f'"{tool}"' in body for body in TAGGED.findall(rendered))

    def _between(self, match: re.Match[str]) -> list[ParsedCall]:
        body = match[1].strip()
        if not match[0].endswith(CLOSE):
            return [self.malformed(body, f"{CLOSE} is missing")]
        try:
            value = STRICT_JSON.decode(body)
        except (ValueError, RecursionError) as error:
            return [self.malformed(body, f"not JSON ({error})")]
        calls = value if isinstance(value, list) else [value]
        return [self.from_object(call, body, "arguments") for call in calls]
