"""Bodies of requests: JSON objects whose keys are taken one by one, until none is left."""

from __future__ import annotations

import json
from typing import Any

from agentic_rl.rollout.gateway.faults import InvalidError

NUMBER = (int, float)
NEUTRAL: dict[str, tuple[Any, ...]] = {
    "background": (False,),
    "best_of": (1,),
    "echo": (False,),
    "frequency_penalty": (0,),
    "logit_bias": ({},),
    "modalities": (["text"],),
    "parallel_tool_calls": (True,),
    "presence_penalty": (0,),
    "reasoning": ({},),
    "repetition_penalty": (1,),
    "response_format": ({"type": "text"},),
    "suffix": ("",),
    "truncation": ("disabled",),
}
"""Keys that would change what the policy writes, or what it is shown, and the values with which they don't."""
IGNORED = frozenset(
    {
        "metadata",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "user",
    }
)
"""Keys without an influence on what the policy writes."""


class Body:
    """A request's body. What is taken is gone; null is as good as absent."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._left = {key: value for key, value in values.items() if value is not None}

    def take(self, key: str, *kinds: type, default: Any = None) -> Any:
        """Return a value of one of the kinds, which must be named one by one; True is no number.

        Raises:
            InvalidError: it is of another kind.
        """
        if key not in self._left:
            return default
        value = self._left.pop(key)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            expected = " or ".join(_NAMES[kind] for kind in kinds)
            raise InvalidError(f"{key} is {shown(value)}; it must be {expected}", param=key, code="invalid_type")
        return value

    def need(self, key: str, *kinds: type) -> Any:
        """Return a value that must be there; see `take`."""
        if key not in self._left:
            raise InvalidError(f"{key} is missing", param=key, code="missing_required_parameter")
        return self.take(key, *kinds)

    def take_integers(self, key: str) -> list[int]:
        """Return a list of whole numbers."""
        numbers = self.take(key, list, default=[])
        if not all(type(one) is int for one in numbers):
            raise InvalidError(f"{key} must be a list of whole numbers", param=key, code="invalid_type")
        return list(numbers)

    def finish(self) -> None:
        """Refuse what is left, unless it has no influence.

        Raises:
            InvalidError: a key is unknown, or asks for what can't be done here.
        """
        for key, value in self._left.items():
            if key in IGNORED:
                continue
            if key not in NEUTRAL:
                problem = f"{shown(key)} is no parameter that this endpoint knows; leave it out"
                raise InvalidError(problem, param=key, code="unknown_parameter")
            if not any(value == neutral for neutral in NEUTRAL[key]):
                harmless = " or ".join(json.dumps(neutral) for neutral in NEUTRAL[key])
                problem = f"{key} is {shown(value)}, which the policy can't follow; leave it out or give {harmless}"
                raise InvalidError(problem, param=key, code="unsupported_parameter")


_NAMES = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
}


def shown(value: Any) -> str:
    """Return a value as a message can hold it."""
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


def read_json(payload: bytes) -> Body:
    """Read a body.

    Raises:
        InvalidError: it is no JSON object.
    """
    try:
        values = json.loads(payload, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        problem = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidError(f"the body is not JSON: {problem}", code="invalid_json") from None
    if not isinstance(values, dict):
        raise InvalidError(f"the body is {shown(values)}; it must be an object", code="invalid_json")
    return Body(values)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")
