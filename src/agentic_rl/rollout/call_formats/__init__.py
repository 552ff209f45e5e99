"""The ways in which models write calls of tools, each with its reader."""

from __future__ import annotations

from agentic_rl.rollout.call_formats.base import CallFormat
from agentic_rl.rollout.call_formats.hermes import Hermes
from agentic_rl.rollout.call_formats.llama3_json import Llama3Json
from agentic_rl.rollout.call_formats.pythonic import Pythonic
from agentic_rl.rollout.call_formats.qwen3_coder import Qwen3Coder

FORMATS: dict[str, CallFormat] = {one.name: one for one in (Hermes(), Qwen3Coder(), Llama3Json(), Pythonic())}
"""By the names that vLLM's parsers have."""


def call_format(name: str) -> CallFormat:
    """Return the format called `name`.

    Raises:
        ValueError: there is none.
    """
    if name not in FORMATS:
        raise ValueError(f"tool_parser: {name!r} is unknown; write {', '.join(FORMATS)}")
    return FORMATS[name]


def format_in(rendered: str, tool: str) -> CallFormat:
    """Return the format of a call of `tool` in a rendered conversation; hermes where it shows none."""
    found = [one for one in FORMATS.values() if one.wrote(rendered, tool)]
    return found[0] if found else FORMATS["hermes"]
