"""Whether the model of a `config.json` is one that can be trained to write text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from agentic_rl.config.artifacts.pages import OTHER_TASK, QUANTIZED, finding
from agentic_rl.config.diagnostics import Finding
from agentic_rl.config.fields.wording import show

_WRITES = re.compile(r"For(CausalLM|ConditionalGeneration)|LMHeadModel$|LMModel$|ChatModel$")
"""Names of architectures that write text; the older ones have no `For`."""
_TASK = re.compile(r"For[A-Z]\w*$")


def check_task(architectures: Any, path: str, key: str, *, trained: bool) -> Iterator[Finding]:
    """A finding where none of the architectures writes text; an error where one names another task."""
    names = [name for name in architectures if isinstance(name, str)] if isinstance(architectures, list) else []
    if not names or any(map(_WRITES.search, names)):
        return
    certain = trained and _TASK.search(names[0])
    message = f"{path}: the architecture {show(names[0])} is no causal language model"
    hint = "a model whose architecture ends in ForCausalLM, such as Qwen2ForCausalLM"
    yield finding(OTHER_TASK, key, message, hint, None if certain else "warning")


def check_quantized(config: Mapping[str, Any], path: str, key: str) -> Iterator[Finding]:
    """A finding where the weights are stored quantized."""
    quantized = config.get("quantization_config")
    if not isinstance(quantized, dict) or not quantized:
        return
    method = quantized.get("quant_method")
    told = f" ({show(method)})" if isinstance(method, str) else ""
    message = f"{path}: the weights are quantized{told}, which is for inference; training needs whole ones"
    yield finding(QUANTIZED, key, message, "the model that this one was quantized from")
