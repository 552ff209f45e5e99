"""Serve mode: the instances of a configuration as a service, with models, agents and training jobs behind HTTP."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentic_rl.config.load import Loaded

__all__ = ["run"]
_PACKAGES = ("fastapi", "uvicorn", "httptools", "aiohttp", "prometheus_client", "transformers")


def run(loaded: Loaded, overrides: Sequence[str] = (), *, insecure: bool = False) -> int:
    """Serve until a signal comes; the exit status.

    Args:
        loaded: a checked configuration of the instances format, read from a file.
        overrides: those that it was loaded with.
        insecure: ask nobody for a token.

    Raises:
        ConfigError: the configuration has a finding of severity error, or something that it names can't be had.
    """
    from importlib.util import find_spec

    from agentic_rl.config.diagnostics import ConfigError, Report
    from agentic_rl.config.flat.files import placed
    from agentic_rl.serve.findings import PACKAGE_MISSING, error

    config = loaded.require_aura()
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        raise error(PACKAGE_MISSING, "", f"{', '.join(missing)} can't be imported", "pip install 'agentic-rl[serve]'")
    from agentic_rl.serve.reading import remarks, settings_of
    from agentic_rl.serve.service import run_service

    place_of = loaded.require_composed().place_of
    try:
        settings = settings_of(config, loaded.document.file, overrides)
        said = Report([placed(one, one.key, place_of) for one in remarks(config, settings)], loaded.report.sources)
        if len(said):
            print(said.to_text(), file=sys.stderr)
        return run_service(settings, insecure=insecure)
    except ConfigError as refused:
        found = [placed(one, one.key, place_of) for one in refused.report]
        raise ConfigError(Report(found, loaded.report.sources)) from None
