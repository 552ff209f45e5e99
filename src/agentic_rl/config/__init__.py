"""Text to checked configuration: reading, validation, rules, reports. Imports no backend and nothing heavy."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentic_rl.config.diagnostics import ConfigError, Finding, Place, Report
    from agentic_rl.config.flat import FlatConfig
    from agentic_rl.config.load import Loaded, check, load_config

__all__ = ["ConfigError", "Finding", "FlatConfig", "Loaded", "Place", "Report", "check", "load_config"]

_HOMES = {
    **dict.fromkeys(("ConfigError", "Finding", "Place", "Report"), "agentic_rl.config.diagnostics"),
    "FlatConfig": "agentic_rl.config.flat",
    **dict.fromkeys(("Loaded", "check", "load_config"), "agentic_rl.config.load"),
}


def __getattr__(name: str) -> Any:
    # Lazily, so that reading a configuration's neighbours (a path, a rule) does not build the whole schema.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
