"""The chat template of a tokenizer, judged by its text and, where the agent has tools, by what it renders."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.json_file import NotUsableError, bounded
from agentic_rl.config.artifacts.pages import (
    BAD_TEMPLATE,
    FORGETFUL_TEMPLATE,
    NO_SWITCH,
    NO_TEMPLATE,
    OTHER_PARSER,
    TOOLLESS_TEMPLATE,
    finding,
)
from agentic_rl.config.artifacts.rendering import CHARACTERS, CPU_SECONDS, MEMORY, Trial, try_template
from agentic_rl.config.artifacts.tokenizer import CONFIG
from agentic_rl.config.diagnostics import Finding

FILE = "chat_template.jinja"
MAX_TEMPLATE = 1 << 20
_TAKE = "take the template of the instruction-tuned model"
_RENDERING = "use a template that renders tool messages"
_KEEPING = "nothing, if questions come once a rollout; otherwise a template that keeps the <think> blocks saves samples"
PARSER = "tool_parser"
_SIGNS = {
    "qwen3_coder": ("<function=", "<parameter="),
    "hermes": ("<tool_call>", '"arguments"'),
    "llama3_json": ('{"name": "', '"parameters": '),
}
"""What a template that writes calls in a format has in its text; the first one that fits."""
SWITCH = "enable_thinking"
"""The key of the configuration, and the variable of templates that have the switch."""
_THINKS = "think"
"""A template without the word knows of no thoughts and shows all that was said."""
_LIMITS = f"{CPU_SECONDS} s of CPU time, {MEMORY >> 20} MiB or {CHARACTERS:,} characters"
_BLOCKS = re.compile(r"{%[-+]?\s*(end)?(if|for|macro)\b")
_GENERATION = re.compile(r"{%[-+]?\s*(end)?generation\s*[-+]?%}")
"""A tag that transformers adds to Jinja."""


@dataclass(frozen=True)
class TemplateUse:
    """What a run wants of the template."""

    tools: bool
    """The agent has tools."""
    needed: bool
    """Rollouts are our own, which can't do without."""
    thinking: bool | None
    """Whether the policy is to think; None: as the template has it."""
    asks_again: bool
    """A further question may come in a rollout."""
    tool_parser: str = "auto"


def check_template(
    folder: Folder,
    config: Mapping[str, Any],
    files: Mapping[str, int],
    key: str,
    use: TemplateUse,
) -> list[Finding]:
    """What is wrong with the template: that of its own file wins over that of `tokenizer_config.json`.

    What only rendering can tell is looked at where it matters: for an agent with tools, and for a policy that may
    think.
    """
    try:
        name, text = (FILE, _of_file(folder)) if FILE in files else (CONFIG, _of_config(config, tools=use.tools))
        if text is None:
            message = f"{folder.path} has no chat template, neither in {CONFIG} nor in {FILE}"
            return [finding(NO_TEMPLATE, key, message, _TAKE, None if use.needed else "warning")]
        _check_text(text)
    except (NotUsableError, OSError) as error:
        return [finding(BAD_TEMPLATE, key, f"the chat template of {folder.path} {error}", _TAKE)]
    path = f"{folder.path}/{name}"
    findings = _check_tools(text, config, path, key) if use.tools else []
    if not use.needed:
        return findings
    if use.thinking is not False and _THINKS in text:
        findings = findings or _check_history(text, config, path, key, asks_again=use.asks_again)
    return [*findings, *_check_switch(text, path, use.thinking), *_check_parser(text, path, use)]


def _check_parser(text: str, path: str, use: TemplateUse) -> list[Finding]:
    shown = next((name for name, signs in _SIGNS.items() if all(sign in text for sign in signs)), None)
    if not use.tools or shown is None or use.tool_parser in ("auto", shown):
        return []
    message = f"{use.tool_parser}, but the chat template in {path} writes calls as {shown}"
    return [finding(OTHER_PARSER, PARSER, message, f"{PARSER}: auto")]


def _check_switch(text: str, path: str, thinking: bool | None) -> list[Finding]:
    if thinking is None or SWITCH in text or (_THINKS not in text and not thinking):
        return []
    message = f"{str(thinking).lower()} has no effect: the chat template in {path} has no such variable"
    return [finding(NO_SWITCH, SWITCH, message, f"remove {SWITCH}")]


def _check_history(text: str, config: Mapping[str, Any], path: str, key: str, *, asks_again: bool) -> list[Finding]:
    trial = try_template(text, config)
    if trial is None or not (trial.forgets_at_result or (trial.forgets and asks_again)):
        return []
    next_comes = "a tool's result or the next question" if trial.forgets_at_result else "the next question"
    message = f"the chat template in {path} leaves out what earlier turns thought once {next_comes} comes"
    return [finding(FORGETFUL_TEMPLATE, key, message, _KEEPING)]


def _check_tools(text: str, config: Mapping[str, Any], path: str, key: str) -> list[Finding]:
    """What happens to a tool's message; by the text alone where nothing can be rendered."""
    trial = try_template(text, config)
    if trial is None:
        refuses = "raise_exception" in text and "tool" not in text
        trial = Trial(refusal="it raises an exception and never mentions tool" if refuses else None)
    if trial.syntax:
        return [finding(BAD_TEMPLATE, key, f"the chat template in {path} {trial.syntax}", _TAKE)]
    if trial.excess:
        message = f"the chat template in {path} needs more than {_LIMITS} for three short messages"
        return [finding(BAD_TEMPLATE, key, message, _TAKE, "warning")]
    if trial.refusal is None:
        return []
    reason = f"refuses a tool's message: {trial.refusal}" if trial.refusal else "leaves out what a tool's message says"
    return [finding(TOOLLESS_TEMPLATE, key, f"the chat template in {path} {reason}", _RENDERING)]


def _of_file(folder: Folder) -> str:
    with folder.open(FILE) as file:
        try:
            return bounded(file, MAX_TEMPLATE).decode()
        except UnicodeDecodeError:
            raise NotUsableError("is not UTF-8 text") from None


def _of_config(config: Mapping[str, Any], *, tools: bool) -> str | None:
    """The template as transformers chooses it: of several named ones `tool_use` where there are tools."""
    template = config.get("chat_template")
    if isinstance(template, list):
        named = {one.get("name"): one.get("template") for one in template if isinstance(one, dict)}
        template = (named.get("tool_use") if tools else None) or named.get("default")
    if template is not None and not isinstance(template, str):
        raise NotUsableError(f"is a {type(template).__name__} in {CONFIG}; it must be text")
    return template


def _check_text(text: str) -> None:
    if not text.strip():
        raise NotUsableError("is empty")
    if "messages" not in text:
        raise NotUsableError("never mentions messages")
    if _looks_broken(text):
        fault = _syntax(text)
        if fault:
            raise NotUsableError(fault)


def _looks_broken(text: str) -> bool:
    """Whether blocks are opened that are not closed, or the other way round: worth the import of a parser."""
    blocks = Counter(_BLOCKS.findall(text))
    return text.count("{%") != text.count("%}") or any(
        blocks["", name] != blocks["end", name] for name in ("if", "for", "macro")
    )


def _syntax(text: str) -> str:
    """What Jinja's parser says against the text; nothing is rendered. Empty without Jinja."""
    try:
        from jinja2 import Environment, TemplateSyntaxError
    except ImportError:
        return ""
    try:
        Environment(extensions=["jinja2.ext.loopcontrols"], autoescape=False).parse(_GENERATION.sub("", text))  # noqa: S701 - parsed only
    except TemplateSyntaxError as error:
        return f"does not parse: {error.message} (line {error.lineno})"
    except RecursionError:
        return "is nested too deep"
    return ""
