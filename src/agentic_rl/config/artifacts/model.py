"""The model folder that `tokenizer_name_or_path` names."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping

from agentic_rl.config.agent_file.questions import asks_once
from agentic_rl.config.agent_file.reading import MAX_BYTES as MAX_AGENT_BYTES
from agentic_rl.config.agent_names import BUILTIN_THAT_ASK_ONCE, BUILTIN_WITH_TOOLS
from agentic_rl.config.artifacts.chat_template import SWITCH, TemplateUse, check_template
from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.model_config import read_config
from agentic_rl.config.artifacts.pages import NO_FOLDER, finding
from agentic_rl.config.artifacts.result import Artifacts, Request
from agentic_rl.config.artifacts.tokenizer import check_tokenizer, read_tokenizer_config
from agentic_rl.config.artifacts.weights import check_weights
from agentic_rl.config.diagnostics import Finding

KEY, AGENT_FILE = "tokenizer_name_or_path", "agent_engine_wrapper_path"
_TOOLS = re.compile(rb"@tool\b|\btools\s*=|\bToolAgent\b")


def read(request: Request) -> Artifacts:
    """Facts `@model.*`, and what is wrong with the folder.

    `mindspeed_rl` reads its weights from elsewhere, so there the folder need hold the tokenizer only.
    """
    result = Artifacts()
    checked = request.checked.get(KEY)
    if checked is None:
        return result
    trained = request.backend != "mindspeed_rl"
    if checked.kind != "folder":
        message = f"{checked.path} is a file; {request.backend} loads a model from its folder"
        result.findings += [finding(NO_FOLDER, KEY, message, "the folder with config.json")] if trained else []
        return result
    with contextlib.suppress(OSError), Folder.opened(checked) as folder:  # changed meanwhile: training will say so
        files = folder.files()
        config = read_config(folder, KEY, required=trained, learns=_learns(request))
        result.facts.update(config.facts)
        result.findings += config.findings
        if trained:
            result.findings += check_weights(folder, files, KEY)
        result.findings += check_tokenizer(folder, files, KEY, config.facts.get("@model.vocab_size"))
        result.findings += _template(folder, files, request, needed=trained)
    return result


def _learns(request: Request) -> bool:
    """Whether the run trains, and not only evaluates."""
    return not (request.values.get("test_only") or request.values.get(request.of_backend("val_only")))


def _template(folder: Folder, files: Mapping[str, int], request: Request, *, needed: bool) -> list[Finding]:
    config = read_tokenizer_config(folder, files, KEY)
    if isinstance(config, Finding):
        return [config]
    tools, thinking = _has_tools(request), request.values.get(SWITCH)
    use = TemplateUse(tools, needed, thinking, _asks_again(request), str(request.values.get("tool_parser", "auto")))
    return check_template(folder, config, files, KEY, use)


def _asks_again(request: Request) -> bool:
    """Whether a rollout may put a further question to the policy; a user's own agent may, unless its text says no."""
    if request.values.get("max_steps") == 1:
        return False
    if AGENT_FILE in request.checked:
        return not asks_once(request.checked[AGENT_FILE].path)
    return request.values.get("agent_name") not in BUILTIN_THAT_ASK_ONCE


def _has_tools(request: Request) -> bool:
    """Whether the agent has tools, as far as its text tells."""
    if AGENT_FILE not in request.checked:
        return request.values.get("agent_name") in BUILTIN_WITH_TOOLS
    with contextlib.suppress(OSError), request.checked[AGENT_FILE].open() as file:
        return _TOOLS.search(file.read(MAX_AGENT_BYTES)) is not None
    return False
