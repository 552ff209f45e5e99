"""`agentic-rl train` (and `agentic-rl --config-path FILE`): check, then train."""

from __future__ import annotations

import typer

from agentic_rl.cli.arguments import ConfigPath, Overrides
from agentic_rl.cli.session import failures_reported, trainer_of


def train(config_path: ConfigPath, overrides: Overrides = None) -> None:
    """Check the file, then train with its backend."""
    with failures_reported():
        result = trainer_of(config_path, overrides).fit()
    raise typer.Exit(result.exit_status)
