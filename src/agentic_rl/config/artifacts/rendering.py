"""What a chat template makes of a conversation with a tool's result, tried out in a process of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

_PROGRAM = Path(__file__).with_name("rendering_process.py")
CPU_SECONDS, MEMORY, CHARACTERS = 0.5, 512 << 20, 1_000_000
"""What a template may use; one of a real model takes milliseconds."""
_WALL_SECONDS = 10
"""A machine under load may need that long to start the process."""
_RESULT, _THOUGHT = "RESULT-4d81b6", "THOUGHT-4d81b6"

_Message = dict[str, Any]
_QUESTION: _Message = {"role": "user", "content": "How warm is it in Bern?"}
_TOOL = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "Its name."}},
            "required": ["city"],
        },
    },
}


@dataclass(frozen=True)
class Trial:
    """How it went; all empty if the template prints what a tool said and was said before, or if that can't be told."""

    syntax: str = ""
    """Why the template does not compile."""
    excess: bool = False
    """Whether it took more time, memory or text than any real template does."""
    refusal: str | None = None
    """The template's own error at the tool's message; empty if it leaves the message out."""
    forgets: bool = False
    """Whether it leaves out what an earlier reply thought, once the next question comes."""
    forgets_at_result: bool = False
    """Whether it does so already when a tool's result comes."""


def try_template(text: str, config: Mapping[str, Any]) -> Trial | None:
    """Render with the special tokens of `config`, the tokenizer's; None where no process can do it.

    The same text is tried once in a process. The arguments of the call are an object and then text, as templates
    differ there, and at last there is no call: one way that works is enough. Where jinja2 is not installed the process
    ends with an error, and nothing is known.
    """
    return _try(text, tuple(sorted(_special_tokens(config).items())))


@lru_cache(maxsize=64)
def _try(text: str, tokens: tuple[tuple[str, str], ...]) -> Trial | None:
    replies = [_call({"city": "Bern"}), _call('{"city": "Bern"}'), {"role": "assistant", "content": "It is"}]
    result = {"role": "tool", "name": "weather", "tool_call_id": "a1b2c3d4e", "content": _RESULT}
    variables = {**dict(tokens), "documents": None, "add_generation_prompt": True}
    thought = {"role": "assistant", "content": f"<think>\n{_THOUGHT}\n</think>\n\nIt is warm."}
    plain = {**variables, "tools": None, "messages": [{**_QUESTION, "content": _RESULT}]}
    later = {**variables, "tools": None, "messages": [_QUESTION, thought, _QUESTION]}
    between = {**variables, "tools": None, "messages": [_QUESTION, thought, result]}
    thoughts = [[later, _THOUGHT], [between, _THOUGHT]]
    with_result = [{**variables, "tools": [_TOOL], "messages": [_QUESTION, reply, result]} for reply in replies]
    return _run(
        {
            "path": [str(folder) for folder in sys.path],
            "template": text,
            "cpu_seconds": CPU_SECONDS,
            "memory": MEMORY,
            "characters": CHARACTERS,
            "conversations": [
                [plain, _RESULT],
                *thoughts,
                *([one, _RESULT] for one in with_result),
            ],
        }
    )


def _call(arguments: object) -> _Message:
    function = {"name": "weather", "arguments": arguments}
    return {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "a1b2c3d4e", "type": "function", "function": function}],
    }


def _special_tokens(config: Mapping[str, Any]) -> dict[str, str]:
    tokens = dict.fromkeys(("bos_token", "eos_token", "pad_token", "unk_token"), "")
    for name, value in config.items():
        content = value.get("content") if isinstance(value, Mapping) else value
        if name.endswith("_token") and isinstance(content, str):
            tokens[name] = content
    return tokens


def _run(request: Mapping[str, Any]) -> Trial | None:
    import signal
    import subprocess

    command = [sys.executable, "-I", "-S", str(_PROGRAM)]  # without site: what it needs is in the request's path
    try:
        done = subprocess.run(  # noqa: S603 - our own program; the template goes to its standard input
            command, input=json.dumps(request).encode(), capture_output=True, timeout=_WALL_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if -done.returncode in (signal.SIGPROF, signal.SIGKILL):
        return Trial(excess=True)
    return _read(json.loads(done.stdout)) if done.returncode == 0 else None


def _read(answer: Mapping[str, Any]) -> Trial:
    if "syntax" in answer:
        return Trial(syntax=answer["syntax"])
    plain, later, between, *with_result = answer["errors"]
    if plain is not None:  # one that refuses a plain question expects what is not known here
        return Trial()
    refusal = None if None in with_result else with_result[0]
    return Trial(refusal=refusal, forgets=later == "", forgets_at_result=between == "")
