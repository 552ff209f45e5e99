"""The numbered pages about model folders (ARL430-446)."""

from __future__ import annotations

from agentic_rl.config.diagnostics import Finding, Severity
from agentic_rl.config.rules import Page, describe

NO_CONFIG = describe(
    "ARL430",
    "Model folder without config.json",
    "error",
    "`config.json` says what the model is: its architecture, layers, heads and context. Without it no backend can load "
    "the folder. Name the folder that `save_pretrained` wrote or that was downloaded, not the one above it.",
)
BAD_CONFIG = describe(
    "ARL431",
    "config.json of the model can't be read",
    "error",
    "`config.json` is a JSON object of a few kilobytes. It may be cut off, a pointer left by Git LFS, or another file. "
    "Fetch it again from where the model came from.",
)
BAD_CONFIG_VALUE = describe(
    "ARL432",
    "Value in the model's config.json is of a wrong kind",
    "error",
    "The sizes of a model are whole numbers above zero and its names are text; heads of attention are a multiple of "
    "the heads of keys and values. A hand-edited file is the usual cause; fetch it again.",
)
NO_ARCHITECTURE = describe(
    "ARL433",
    "Model without an architecture",
    "warning",
    "`architectures` and `model_type` in `config.json` tell transformers and the inference engine which class to "
    "build. Without `model_type` transformers refuses the folder; without `architectures` vLLM does.",
)


def finding(page: Page, key: str, message: str, hint: str = "", severity: Severity | None = None) -> Finding:
    """A finding of `page` without a place; whoever reads the configuration knows where `key` stands."""
    return Finding(page.code, severity or page.severity, key, message, hint)
