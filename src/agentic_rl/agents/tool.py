"""Tools: plain typed functions that the policy may call."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, overload

from pydantic import ConfigDict, Field, ValidationError, create_model

from agentic_rl.agents.calls import call
from agentic_rl.agents.docstring import describe
from agentic_rl.agents.errors import EscapedError, LateError
from agentic_rl.agents.own_lines import said

MAX_RESULT_CHARACTERS = 32_768
"""Longer results reach the model with their middle left out."""


@dataclass(frozen=True)
class ToolResult:
    """What a call gives back to the model."""

    text: str
    ok: bool = True
    """False: the call failed, and `text` says why."""
    final: bool = False
    """True: the policy has said all that it has to say; a `ToolAgent` ends the rollout."""


class Tool:
    """A function with the description that the model reads. Make one with `@tool`."""

    def __init__(self, function: Callable[..., Any], *, timeout: float | None = None, inline: bool = False) -> None:
        self.function = function
        self.name = function.__name__
        self.timeout = timeout
        self._inline = inline and not inspect.iscoroutinefunction(function)
        self.description, texts = describe(function.__doc__)
        self._arguments = _arguments_model(function, texts)
        self.parameters = _parameters(self._arguments.model_json_schema())
        self.schema: dict[str, Any] = {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"Tool({self.name!r})"

    async def call(self, arguments: str | Mapping[str, Any]) -> ToolResult:
        """Run the tool with arguments from the model (JSON text or an object).

        Wrong arguments, exceptions and time-outs do not raise: they become the text that the model reads.
        """
        try:
            checked = self._check(arguments)
        except ValueError as problem:
            return ToolResult(f"Error: wrong arguments for {self.name}: {problem}", ok=False)
        try:
            return _as_result(await self._run(checked))
        except (EscapedError, LateError) as error:
            return ToolResult(shortened(f"Error: {error}"), ok=False)
        except Exception as error:
            return ToolResult(shortened(f"Error: {type(error).__name__}: {said(error)}"), ok=False)

    def _check(self, arguments: str | Mapping[str, Any]) -> dict[str, Any]:
        try:
            if isinstance(arguments, str):
                model = self._arguments.model_validate_json(arguments)
            else:
                model = self._arguments.model_validate(dict(arguments))
        except ValidationError as error:
            raise ValueError(_problems(error)) from None
        return {name: getattr(model, name) for name in type(model).model_fields if name in model.model_fields_set}

    async def _run(self, arguments: dict[str, Any]) -> Any:
        function = partial(self.function, **arguments)
        return await call(function, what=self.name, seconds=self.timeout, inline=self._inline)


@overload
def tool(function: Callable[..., Any]) -> Tool: ...
@overload
def tool(*, timeout: float | None = None, inline: bool = False) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, *, timeout: float | None = None, inline: bool = False
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a tool of a typed function: name, docstring and signature become what the model reads.

    An `async` function runs on the event loop, any other one in a thread of its own, so that it may block.

    Args:
        function: the function; each parameter has a type, and a line under `Args:` of the docstring. It returns a
            text, anything that JSON can hold, or a `ToolResult`.
        timeout: seconds that a call may take; `turn_timeout` of the configuration where it is left out.
        inline: run a function that is quick for every input (well below a millisecond) on the event loop, without
            thread and time-out.

    Raises:
        TypeError: a parameter without a type, `*args` or `**kwargs`.
    """
    if function is None:
        return partial(Tool, timeout=timeout, inline=inline)
    return Tool(function, timeout=timeout, inline=inline)


def _arguments_model(function: Callable[..., Any], texts: Mapping[str, str]) -> Any:
    hints = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {function.__name__}: {parameter} can't be described to a model; name each argument")
        if parameter.name not in hints:
            raise TypeError(f"tool {function.__name__}: {parameter.name} has no type; write one, such as `: str`")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], Field(default, description=texts.get(parameter.name)))
    return create_model(function.__name__, __config__=ConfigDict(extra="forbid"), **fields)


def _parameters(schema: dict[str, Any]) -> dict[str, Any]:
    """Leave out what pydantic adds and chat templates do not expect: it would only cost tokens."""
    parameters = {"type": "object", "properties": {}, **_without_titles(schema)}
    parameters.pop("additionalProperties", None)
    return parameters


def _without_titles(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept: dict[str, Any] = {"type": schema["type"]} if "type" in schema else {}  # first, as models know it
    for key, value in schema.items():
        if key == "properties":  # its keys are names, and one of them may well be `title`
            kept[key] = {name: _without_titles(one) for name, one in value.items()}
        elif key != "title":
            kept[key] = _without_titles(value)
    return kept


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'arguments'}: {one['msg']}" for one in found)


def _as_result(result: Any) -> ToolResult:
    if isinstance(result, ToolResult):
        return replace(result, text=shortened(result.text))
    if not isinstance(result, str):
        result = json.dumps(result, ensure_ascii=False, default=str)
    return ToolResult(shortened(result))


def shortened(text: str) -> str:
    """Return a text of at most `MAX_RESULT_CHARACTERS` and a note, its middle left out where it is longer."""
    left_out = len(text) - MAX_RESULT_CHARACTERS
    if left_out <= 0:
        return text
    half = MAX_RESULT_CHARACTERS // 2
    return f"{text[:half]}\n[{left_out} characters left out]\n{text[-half:]}"
