"""The model folder that `tokenizer_name_or_path` names."""

from __future__ import annotations

from agentic_rl.config.artifacts.folder import Folder
from agentic_rl.config.artifacts.model_config import read_config
from agentic_rl.config.artifacts.result import Artifacts, Request

KEY = "tokenizer_name_or_path"


def read(request: Request) -> Artifacts:
    """Facts `@model.*`, and what is wrong with the folder.

    `mindspeed_rl` reads its weights from elsewhere, so there the folder need hold the tokenizer only.
    """
    result = Artifacts()
    checked = request.checked.get(KEY)
    if checked is None or checked.kind != "folder":
        return result
    try:
        with Folder.opened(checked) as folder:
            config = read_config(folder, KEY, required=request.backend != "mindspeed_rl")
    except OSError:  # changed since it was checked; training will say so when it opens it
        return result
    result.facts.update(config.facts)
    result.findings += config.findings
    return result
