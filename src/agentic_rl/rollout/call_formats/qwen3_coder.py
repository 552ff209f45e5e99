"""`<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>`: Qwen3-Coder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agentic_rl.rollout.call_formats.base import STRICT_JSON, Call, CallFormat, Schemas, as_json
from agentic_rl.rollout.held_back import settled_length
from agentic_rl.rollout.tool_calls import ParsedCall

_CALL = re.compile(
    r"<tool_call>(?P<tagged>.*?)(?:</tool_call>|\Z)|<function=(?P<bare>.*?)(?:</function>(?:\s*</tool_call>)?|\Z)",
    re.DOTALL,
)
_FUNCTION = re.compile(r"<function=([^<>\n]+)>(.*)</function>", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^<>\n]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_OPENING = ("<tool_call>", "<function=")
_TRUE_AND_FALSE = {"True": True, "False": False, "None": None}


class Qwen3Coder(CallFormat):
    """Values are text as it is, and become what the tool's schema says; the outer tags may be left out."""

    name = "qwen3_coder"
    form = "<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>"

    def read(self, text: str, schemas: Schemas) -> tuple[str, list[ParsedCall]]:
        """Read every call, whatever the order of its parameters."""
        if not any(tag in text for tag in _OPENING):
            return text, []
        calls = [self._call(_body(match), schemas) for match in _CALL.finditer(text)]
        return _CALL.sub("", text).rstrip(), calls

    def calls_begin(self, text: str, schemas: Schemas) -> int:
        """Return the place of the first opening tag."""
        return settled_length(text, _OPENING)

    def write(self, calls: Sequence[Call]) -> str:
        """Write each between tags of its own."""
        return "\n".join(
            f"<tool_call>\n<function={name}>\n{_written(args)}</function>\n</tool_call>" for name, args in calls
        )

    def wrote(self, rendered: str, tool: str) -> bool:
        """Whether the tool's name stands in a tag."""
        return f"<function={tool}>" in rendered

    def _call(self, body: str, schemas: Schemas) -> ParsedCall:
        function = _FUNCTION.fullmatch(body)
        if function is None:
            return self.malformed(body, "not one <function=NAME> with its </function>")
        name, (inside, close, rest) = function[1].strip(), function[2].rpartition("</parameter>")
        inside += close
        rest = _PARAMETER.sub("", inside).strip() + rest.strip()
        if rest:
            return self.malformed(body, f"{rest[:40]!r} is not in a <parameter=KEY> with its </parameter>")
        parameters = _parameters(name, schemas)
        arguments: dict[str, Any] = {}
        for key, value in _PARAMETER.findall(inside):
            if key in arguments:
                return self.malformed(body, f"{key} is given twice")
            arguments[key] = _typed(value, parameters.get(key))
        return ParsedCall(name, json.dumps(arguments, ensure_ascii=False))


def _written(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return f"{arguments}\n"
    return "".join(f"<parameter={key}>\n{as_json(value)}\n</parameter>\n" for key, value in arguments.items())


def _body(match: re.Match[str]) -> str:
    return match["tagged"].strip() if match["tagged"] is not None else match[0].removesuffix("</tool_call>").strip()


def _parameters(name: str, schemas: Schemas) -> Mapping[str, Any]:
    for schema in schemas:
        function = schema.get("function", schema)
        if function.get("name") == name:
            properties = (function.get("parameters") or {}).get("properties")
            return properties if isinstance(properties, Mapping) else {}
    return {}


def _typed(value: str, schema: Any) -> Any:
    """What the text means for its parameter; the text itself where it is no such value, which the tool will say."""
    if not isinstance(schema, Mapping) or _takes_text(schema):
        return value
    if value.strip() in _TRUE_AND_FALSE:
        return _TRUE_AND_FALSE[value.strip()]
    try:
        return STRICT_JSON.decode(value)
    except (ValueError, RecursionError):
        return value


def _takes_text(schema: Mapping[str, Any]) -> bool:
    kinds = schema.get("type")
    if "enum" in schema or "const" in schema:
        return any(isinstance(one, str) for one in schema.get("enum", [schema.get("const")]))
    options = [one for key in ("anyOf", "oneOf") for one in schema.get(key) or () if isinstance(one, Mapping)]
    return kinds == "string" or (isinstance(kinds, list) and "string" in kinds) or any(map(_takes_text, options))
