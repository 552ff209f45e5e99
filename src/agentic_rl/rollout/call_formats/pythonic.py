"""`[name(key=value), ...]` as the whole reply: Llama 3.2 and 4."""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from agentic_rl.rollout.call_formats.base import Call, CallFormat, Schemas
from agentic_rl.rollout.tool_calls import ParsedCall

_BEGIN = re.compile(r"\[\s*[A-Za-z_][\w.]*\s*\(")
_MAY_BEGIN = re.compile(r"\[\s*(?:[A-Za-z_][\w.]*\s*(?:\(|\Z)|\Z)|\Z")
_TAGS = ("<|python_tag|>", "<|python_start|>")
_END = "<|python_end|>"
_SIGNS = re.compile(r"(?:[-+~]\s*|not\s+)+")
_DEEPEST = 50
"""Brackets or signs within each other; Python's own parser is not safe with thousands."""
_JSON_WORDS = {"true": True, "false": False, "null": None}


class Pythonic(CallFormat):
    """A Python list of calls whose arguments are plain values, each with its name; nothing is ever evaluated."""

    name = "pythonic"
    form = "[name(key=value, ...)]"

    def read(self, text: str, schemas: Schemas) -> tuple[str, list[ParsedCall]]:
        """Read a reply that is one list of calls; any other reply is an answer."""
        body = text.strip()
        for tag in _TAGS:
            body = body.removeprefix(tag).lstrip()
        if not schemas or not _BEGIN.match(body):
            return text, []
        body = body.removesuffix(_END).rstrip()
        try:
            return "", [self._call(node) for node in _nodes(body)]
        except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError) as error:  # what a parser may say
            return "", [self.malformed(body, str(error) or type(error).__name__)]

    def calls_begin(self, text: str, schemas: Schemas) -> int:
        """Return 0 as long as the reply may become a list of calls."""
        if not schemas:
            return len(text)
        body = text.strip()
        for tag in _TAGS:
            if tag.startswith(body):
                return 0
            body = body.removeprefix(tag).lstrip()
        return 0 if _MAY_BEGIN.match(body) else len(text)

    def write(self, calls: Sequence[Call]) -> str:
        """Write one list."""
        return f"[{', '.join(_written(name, arguments) for name, arguments in calls)}]"

    def wrote(self, rendered: str, tool: str) -> bool:
        """Whether a list begins with a call of the tool."""
        return re.search(r"\[\s*" + re.escape(tool) + r"\s*\(", rendered) is not None

    def _call(self, node: ast.expr) -> ParsedCall:
        body = ast.unparse(node)
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            return self.malformed(body, "not a call of a tool")
        if node.args or any(keyword.arg is None for keyword in node.keywords):
            return self.malformed(body, "an argument has no name")
        try:
            arguments = {str(keyword.arg): _value(keyword.value) for keyword in node.keywords}
            return ParsedCall(ast.unparse(node.func), json.dumps(arguments, ensure_ascii=False, allow_nan=False))
        except ValueError as error:
            return self.malformed(body, str(error))


def _written(name: str, arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return f"{name}({arguments})"
    return f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})"


def _nodes(text: str) -> list[ast.expr]:
    depths = accumulate((letter in "([{") - (letter in ")]}") for letter in text)
    if max(depths, default=0) > _DEEPEST or max(map(len, _SIGNS.findall(text)), default=0) > _DEEPEST:
        raise ValueError("nested too deep")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of escapes that Python does not know
        tree = ast.parse(text, mode="eval").body
    if not isinstance(tree, ast.List):
        raise ValueError("not one list")
    return tree.elts


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, (str, int, float, bool, type(None))):
        return node.value
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(one) for one in node.elts]
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {_key(key): _value(value) for key, value in zip(node.keys, node.values, strict=True)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _value(node.operand)
        if isinstance(number, (int, float)) and not isinstance(number, bool):
            return -number
    if isinstance(node, ast.Name) and node.id in _JSON_WORDS:
        return _JSON_WORDS[node.id]
    raise ValueError(f"{ast.unparse(node)[:40]!r} is not a plain value")


def _key(node: ast.expr | None) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise ValueError("a key of an object is not text")
