"""`{"name": ..., "parameters": {...}}` as the whole reply: Llama 3."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from agentic_rl.rollout.call_formats.base import STRICT_JSON, Call, CallFormat, Schemas, as_json
from agentic_rl.rollout.held_back import settled_length
from agentic_rl.rollout.tool_calls import ParsedCall

_TAG = "<|python_tag|>"
_BEGIN = re.compile(r'\{\s*"(?:name|type)"\s*:')
_LONGEST_BEGIN = 256
_BETWEEN = re.compile(r"[\s;]*(?:<\|python_tag\|>)?[\s;]*")


class Llama3Json(CallFormat):
    """Objects one after the other, with or without `;` between them; text may stand before the first.

    JSON that is no call is an answer, so only an object that begins with the name counts as one, and only where there
    are tools.
    """

    name = "llama3_json"
    form = '{"name": ..., "parameters": {...}}'

    def read(self, text: str, schemas: Schemas) -> tuple[str, list[ParsedCall]]:
        """Read objects until something else comes, which makes the last call malformed."""
        tag, begin = text.find(_TAG), _BEGIN.search(text)
        if not schemas or (tag < 0 and begin is None):
            return text, []
        place = min(tag if tag >= 0 else len(text), begin.start() if begin else len(text))
        calls = self._calls(text[place:])
        return (text, []) if not calls else (text[:place].rstrip(), calls)

    def calls_begin(self, text: str, schemas: Schemas) -> int:
        """Return the place of the tag, or of a brace that may be an object's with a name."""
        if not schemas:
            return len(text)
        begins = (brace.start() for brace in re.finditer("{", text) if _may_begin(text[brace.start() :]))
        return min(settled_length(text, [_TAG]), next(begins, len(text)))

    def write(self, calls: Sequence[Call]) -> str:
        """Write objects with `; ` between them."""
        return "; ".join(
            f'{{"name": {json.dumps(name)}, "parameters": {as_json(arguments)}}}' for name, arguments in calls
        )

    def wrote(self, rendered: str, tool: str) -> bool:
        """Whether an object with the tool's name is there, not between tags."""
        begins = re.search(r'\{\s*(?:"type"\s*:\s*"function"\s*,\s*)?"name"\s*:\s*"' + re.escape(tool) + '"', rendered)
        return begins is not None and "<tool_call>" not in rendered

    def _calls(self, text: str) -> list[ParsedCall]:
        tagged, calls, place = text.startswith(_TAG), [], _skipped(text, 0)
        while place < len(text):
            try:
                value, end = STRICT_JSON.raw_decode(text, place)
            except (ValueError, RecursionError) as error:
                calls.append(self.malformed(text[place:], f"not JSON ({error})"))
                break
            if not tagged and not calls and not _is_call(value):
                return []
            calls.append(self.from_object(value, text[place:end], "parameters", "arguments"))
            place = _skipped(text, end)
        return calls or [self.malformed(text, "nothing follows the tag")]


def _may_begin(text: str) -> bool:
    """Whether a text that begins with a brace is, or may become, the beginning of a call."""
    written = "".join(text[:_LONGEST_BEGIN].split())
    return any(written.startswith(begin) or begin.startswith(written) for begin in ('{"name":', '{"type":'))


def _skipped(text: str, place: int) -> int:
    match = _BETWEEN.match(text, place)
    return match.end() if match else place


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and "name" in value and ("parameters" in value or "arguments" in value)
